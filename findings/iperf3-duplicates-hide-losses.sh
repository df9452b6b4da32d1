#!/bin/sh
# Guess: "Lost/Total Datagrams" of `iperf3 -u` is the part of the sent datagrams that never came; copies
# that the network makes are not in it, or are told apart.
# Run: iperf3 3.12 (Debian 12) over a path that loses each tenth datagram: 10 %. If the same path also
# delivers another tenth twice, as some Wi-Fi bridges and bonded links do: 0 %, with no other word. The
# receiver takes back one loss for any datagram whose number is not above the highest, a copy or late.
# Here: `tfrc` tells a copy from a late packet, and it changes neither losses nor the receive rate; the
# test is `duplicates_and_non_data`. `docs/habits.md` has iperf3's.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
version=3.12-1+deb12u2
for package in iperf3=$version libiperf0=$version libsctp1; do
  apt-get -o APT::Sandbox::User=root download -qq "$package"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH="$place/$(dirname "$(find root -name 'libiperf.so.0')")"
export LD_LIBRARY_PATH
cat > path.py <<'END'
"""Passes one iperf3 on: no datagram 5, 15, 25 …; 7, 17, 27 … twice if asked. Starts both ends; prints the losses."""
import json, os, select, socket, subprocess, sys, time

IPERF = "root/usr/bin/iperf3"
near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
far.connect(("127.0.0.1", 7002))
control = socket.create_server(("127.0.0.1", 7001))
server = subprocess.Popen([IPERF, "-s", "-1", "-p", "7002", "--forceflush"], stdout=subprocess.PIPE, text=True)
server.stdout.readline(), server.stdout.readline()
command = [IPERF, "-u", "-c", "127.0.0.1", "-p", "7001", "-b", "4M", "-l", "1000", "-t", "3", "--json"]
client = subprocess.Popen(command, stdout=open("said", "w"))
ends, sender, number, lost = {}, None, 0, 0
end = time.time() + 30
while client.poll() is None and time.time() < end:
    for one in select.select([near, far, control, *ends], [], [], 0.1)[0]:
        if one is control:
            a, b = control.accept()[0], socket.create_connection(("127.0.0.1", 7002))
            ends |= {a: b, b: a}
        elif one is far:
            near.sendto(far.recv(65536), sender)
        elif one is near:
            data, sender = near.recvfrom(65536)
            # What is shorter opens the session.
            number += len(data) == 1000
            if len(data) == 1000 and number % 10 == 5:
                lost += 1
                continue
            for _ in range(2 if sys.argv[1] == "twice" and number % 10 == 7 else 1):
                far.send(data)
        elif data := one.recv(65536):
            ends[one].sendall(data)
        else:
            ends.pop(one)
client.kill()
server.kill()
seen = json.load(open("said"))["end"]["sum"]
print(f"{sys.argv[1]}: {100 * lost / number:.0f} % lost, iperf3 says {seen['lost_percent']:.0f} %")
END
root/usr/bin/iperf3 --version | head -n 1 | tee seen
for how in once twice; do timeout 60 python3 path.py $how; done | tee -a seen
grep -q '^iperf 3\.12 ' seen
grep -qx 'once: 10 % lost, iperf3 says 10 %' seen
grep -qx 'twice: 10 % lost, iperf3 says 0 %' seen
