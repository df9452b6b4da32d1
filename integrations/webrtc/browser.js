// One headless Chromium at one end of `tfrc emu`: sends or receives video, and writes its statistics.
//
//   node browser.js send|receive FOLDER
//
// FOLDER/call.json says what to do (calls.py writes it). The two ends find each other by files in FOLDER: an
// offer and an answer for each flow. Every flow is a peer connection of its own, so that each has its own
// congestion control. One line of JSON each half second goes to FOLDER/send.jsonl or receive.jsonl.
'use strict';
const fs = require('fs');
const path = require('path');
const puppeteer = require('puppeteer-core');

const [role, folder] = process.argv.slice(2);
const call = JSON.parse(fs.readFileSync(path.join(folder, 'call.json')));
const file = name => path.join(folder, name);
const sleep = ms => new Promise(done => setTimeout(done, ms));

// Others never see half of a file.
function put(name, value) {
  fs.writeFileSync(file(name + '.part'), JSON.stringify(value));
  fs.renameSync(file(name + '.part'), file(name));
}

async function take(name) {
  while (!fs.existsSync(file(name))) await sleep(10);
  return JSON.parse(fs.readFileSync(file(name)));
}

// The time of the case in ms since 1970: the emulator's start and the lead that browsers need to be there.
async function zero() {
  while (!fs.existsSync(file('start'))) await sleep(10);
  return 1000 * (Number(fs.readFileSync(file('start'), 'utf8')) + call.lead);
}

async function open() {
  const args = [
    '--no-sandbox', '--headless=new', '--disable-gpu', '--mute-audio', '--no-first-run', '--no-proxy-server',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-features=WebRtcHideLocalIpsWithMdns',
    '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
    `--user-data-dir=${file('profile-' + role)}`,
  ];
  if (call.picture) args.push(`--use-file-for-fake-video-capture=${call.picture}`);
  if (call.plain) args.push('--disable-webrtc-encryption');
  if (call.trials) args.push('--force-fieldtrials=' + call.trials);
  const browser = await puppeteer.launch({
    executablePath: call.chromium, pipe: true, args, ignoreDefaultArgs: ['--enable-automation'],
  });
  const page = await browser.newPage();
  await page.goto('file://' + call.page);
  put(role + '.version.json', await browser.version());
  return [browser, page];
}

// Runs in the page: a peer connection whose description is complete before it is given away.
function prepare() {
  window.ends = [];
  window.gathered = pc => new Promise(done => {
    const look = () => pc.iceGatheringState === 'complete' && done();
    pc.onicegatheringstatechange = look;
    look();
  });
  window.described = pc => ({ type: pc.localDescription.type, sdp: pc.localDescription.sdp });
}

async function offer(page, flow, most) {
  return page.evaluate(async (flow, most) => {
    window.picture = window.picture || await navigator.mediaDevices.getUserMedia({ video: true });
    const pc = window.ends[flow] = new RTCPeerConnection();
    pc.addTransceiver(window.picture.getVideoTracks()[0],
      { direction: 'sendonly', streams: [window.picture], sendEncodings: [{ maxBitrate: most }] });
    await pc.setLocalDescription(await pc.createOffer());
    await window.gathered(pc);
    return window.described(pc);
  }, flow, most);
}

async function answer(page, flow, offered) {
  return page.evaluate(async (flow, offered) => {
    const pc = window.ends[flow] = new RTCPeerConnection();
    pc.ontrack = event => {
      const screen = document.createElement('video');
      screen.muted = true;
      screen.srcObject = event.streams[0];
      document.body.append(screen);
      screen.play();
    };
    await pc.setRemoteDescription(offered);
    await pc.setLocalDescription(await pc.createAnswer());
    await window.gathered(pc);
    return window.described(pc);
  }, flow, offered);
}

// Sets up a flow at its time; the offer is made at once and given away when the flow begins.
async function connect(page, flow, begin) {
  const [asked, said] = [`offer-${flow}.json`, `answer-${flow}.json`];
  if (role === 'receive') {
    put(said, await answer(page, flow, await take(asked)));
    return;
  }
  const description = await offer(page, flow, call.most);
  await take('receiver-is-there');
  await sleep(begin - Date.now());
  put(asked, description);
  const answered = await take(said);
  await page.evaluate((flow, answered) => window.ends[flow].setRemoteDescription(answered), flow, answered);
}

async function pause(page, from, to) {
  const track = on => page.evaluate(on =>
    window.ends[0].getSenders()[0].replaceTrack(on ? window.picture.getVideoTracks()[0] : null), on);
  await sleep(from - Date.now());
  await track(false);
  await sleep(to - Date.now());
  await track(true);
}

// What the statistics of all flows say now.
function look(page) {
  return page.evaluate(async () => {
    const flows = [];
    for (const pc of window.ends) {
      const flow = {};
      if (pc) {
        for (const part of (await pc.getStats()).values()) {
          if (['outbound-rtp', 'inbound-rtp', 'media-source'].includes(part.type)) flow[part.type] = part;
          if (part.type === 'candidate-pair' && part.nominated) flow.pair = part;
        }
      }
      flows.push(flow);
    }
    return { now: Date.now(), flows };
  });
}

(async () => {
  const [browser, page] = await open();
  await page.evaluate(prepare);
  if (role === 'receive') put('receiver-is-there', true);
  const began = await zero();
  const at = seconds => began + 1000 * seconds;
  const flows = call.flows.map((begin, flow) => connect(page, flow, at(begin)));
  if (role === 'send' && call.pause) flows.push(pause(page, at(call.pause[0]), at(call.pause[1])));
  const out = fs.createWriteStream(file(role + '.jsonl'));
  for (let turn = Date.now(); turn < at(call.seconds); turn += 500) {
    await sleep(turn - Date.now());
    out.write(JSON.stringify(await look(page)) + '\n');
  }
  await Promise.all(flows);
  await browser.close();
  process.exit(0);
})().catch(error => {
  console.error(`${role}: ${error.stack}`);
  process.exit(1);
});
