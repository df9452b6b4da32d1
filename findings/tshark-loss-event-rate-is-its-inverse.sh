#!/bin/sh
# Guess: in tshark's field `dccp.ccid3_loss_event_rate` a larger number is more loss, and a connection
# without loss has 0; a filter for bad stretches is `>= 1000`, or something of that kind.
# Run: tshark 4.0.17 (Debian 12), three acknowledgements of CCID 3: no loss event yet, one in 34 packets,
# one in 100,000. The field has 4294967295, 34 and 100000, as RFC 4342 8.5 puts 1/p on the wire, without
# a word of that, though the text says "0 (or max)" for the first. The filter finds the two good ones.
# Here: `docs/guides/record.md` has the meaning of each option in tshark, and `tfrc capture` prints p in
# per cent.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
version=4.0.17-0+deb12u3
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
  apt-get -o APT::Sandbox::User=root download -qq "$package=$version"
done
for package in libbrotli1 libc-ares2 libgcrypt20 libglib2.0-0 libicu72 liblua5.2-0 libnghttp2-14 libpcap0.8 \
  libpcre2-8-0 libsmi2ldbl libsnappy1v5 libxml2; do
  apt-get -o APT::Sandbox::User=root download -qq "$package"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries="$place/$(dirname "$(find root -name libwireshark.so.16)")"
export LD_LIBRARY_PATH="$libraries"
cat > acknowledgements.py <<'END'
"""Three DCCP-Acks with Loss Event Rate (192) and Receive Rate (194), as IP protocol 33."""
import struct

pcap = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
for number, inverse in enumerate((0xFFFFFFFF, 34, 100_000), 1):
    options = struct.pack(">BBIBBI", 192, 6, inverse, 194, 6, 125_000)
    dccp = struct.pack(">HHBBHBxHIxxHI", 5000, 6000, 9, 0, 0, 3 << 1 | 1, 0, number, 0, 9) + options
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(dccp), 0, 0, 64, 33, 0, b"\n\0\0\1", b"\n\0\0\2")
    pcap += struct.pack("<IIII", 0, 0, len(ip + dccp), len(ip + dccp)) + ip + dccp
open("three.pcap", "wb").write(pcap)
END
python3 acknowledgements.py
field=dccp.ccid3_loss_event_rate
see() { root/usr/bin/tshark -r three.pcap -o dccp.check_checksum:FALSE "$@" 2>/dev/null; }
root/usr/bin/tshark --version | head -n 1 | tee seen
see -T fields -e $field | tr '\n' ' ' | tee -a seen
see -V | grep -c 'Loss Event Rate: 0 (or max)' | tee -a seen
see -Y "$field >= 1000" -T fields -e frame.number | tr '\n' ' ' | tee -a seen
grep -q 'TShark (Wireshark) 4\.0\.17 ' seen
grep -qx '4294967295 34 100000 1' seen
test "$(tail -n 1 seen)" = '1 3 '
