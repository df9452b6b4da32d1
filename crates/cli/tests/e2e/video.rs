//! Video as people send it: an MPEG transport stream out of ffmpeg, through a bottleneck, into a
//! file that plays.

use std::process::Stdio;

use crate::e2e::network::{Place, end_link, link, recv, scenario, send};
use crate::e2e::program::{Program, other};

/// Three seconds of picture and tone, some 1 Mbit/s.
pub(crate) fn encode(to: &str) {
    let mut ffmpeg = other("ffmpeg");
    ffmpeg.args(["-nostdin", "-loglevel", "error", "-y"]);
    ffmpeg.args(["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25"]);
    ffmpeg.args(["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "3"]);
    ffmpeg.args(["-c:v", "mpeg2video", "-b:v", "900k", "-g", "12", "-c:a", "mp2", "-b:a", "96k"]);
    ffmpeg.args(["-f", "mpegts", to]);
    Program::start(ffmpeg).succeed();
}

/// Kinds of the streams in a file, and how many pictures can be read.
pub(crate) fn probe(file: &str) -> (Vec<String>, u64) {
    let mut ffprobe = other("ffprobe");
    ffprobe.args(["-loglevel", "quiet", "-count_packets", "-print_format", "json", "-show_streams", file]);
    let found: serde_json::Value = Program::start(ffprobe).succeed().json();
    let streams = found["streams"].as_array().expect("streams");
    let text = |stream: &serde_json::Value, key: &str| stream[key].as_str().unwrap_or_default().to_owned();
    let mut kinds: Vec<String> = streams.iter().map(|stream| text(stream, "codec_type")).collect();
    kinds.sort_unstable();
    let pictures = streams.iter().filter(|stream| stream["codec_type"] == "video");
    (kinds, pictures.filter_map(|stream| text(stream, "nb_read_packets").parse::<u64>().ok()).sum())
}

#[test]
fn video_goes_through_a_bottleneck() {
    let place = Place::new();
    let (original, arrived) = (place.file("in.ts"), place.file("out.ts"));
    encode(&original);
    assert_eq!(probe(&original), (vec!["audio".to_owned(), "video".to_owned()], 75));

    let (receiver, address) = recv(&["-1", "-o", &arrived]);
    let (relay, entrance) = link(&scenario("bottleneck.toml"), &address);
    send(&entrance, &["-f", &original, "--lossy"], Stdio::null()).succeed();
    receiver.succeed();
    end_link(relay);
    // Slow start loses some twenty packets of 300; what is left is still a stream of whole 188-byte
    // packets.
    let (kinds, pictures) = probe(&arrived);
    assert_eq!(kinds, ["audio", "video"]);
    assert!((38..=75).contains(&pictures), "{pictures} of 75 pictures");
    assert_eq!(std::fs::metadata(&arrived).expect("written").len() % 188, 0);
}

/// The line of the README: a live encoder into a pipe, and a player's file at the other end.
#[test]
fn live_video_through_pipes_arrives_whole_below_the_bottleneck() {
    let place = Place::new();
    let original = place.file("in.ts");
    encode(&original);
    let (receiver, address) = recv(&["-1", "-o", "-"]);
    let mut reader = other("ffmpeg");
    reader.args([
        "-nostdin",
        "-loglevel",
        "error",
        "-re",
        "-i",
        &original,
        "-c",
        "copy",
        "-f",
        "mpegts",
        "-",
    ]);
    let mut reader = reader.stdout(Stdio::piped()).spawn().expect("ffmpeg starts");
    let pipe = Stdio::from(reader.stdout.take().expect("piped"));
    send(&address, &["-f", "-", "--deadline", "300ms"], pipe).succeed();
    assert!(reader.wait().expect("a child of ours").success());
    let arrived = place.write("out.ts", receiver.succeed().stdout);
    assert_eq!(probe(&arrived), probe(&original));
}
