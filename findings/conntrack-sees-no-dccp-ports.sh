#!/bin/sh
# Guess: Linux's connection tracking, which has known DCCP by its ports since 2.6.26, has an entry for
# each DCCP connection, and a translator of addresses (NAT) can serve two of them to one host.
# Run: Linux 6.18, conntrack 1.4.7 and nft 1.0.6 (Debian 12), in a namespace of its own: the first packets
# (DCCP-Request) of three connections from one host to another, by ports of their own. nft sees three new
# packets, and there is one entry, for 600 s, with both ports 0: the tracker went with the kernel's DCCP,
# and the generic one has addresses alone.
# Here: `docs/guides/operate.md` has DCCP in UDP, the default, for all paths with NAT or rules by state;
# `--raw` is for paths without.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for package in conntrack=1:1.4.7-1+b2 nftables libnftables1 libnftnl11 libmnl0 libnetfilter-conntrack3 \
  libnfnetlink0 libedit2 libjansson4 libxtables12; do
  apt-get -o APT::Sandbox::User=root download -qq "$package"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH="$place/$(dirname "$(find root -name 'libmnl.so.0')")"
export LD_LIBRARY_PATH
cat > requests.py <<'END'
"""The first packets of three connections."""
import socket, struct

raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 33)
for number in range(3):
    request = struct.pack(">HHBBHBxHII", 5000 + number, 6000 + number, 5, 0, 0, 1, 0, number + 1, 42)
    raw.sendto(request, ("127.0.0.2", 0))
END
cat > inside.sh <<'END'
set -eu
ip link set lo up
nft=root/usr/sbin/nft
$nft add table ip seen
$nft add chain ip seen input '{ type filter hook input priority 0; }'
$nft add rule ip seen input ip protocol 33 ct state new counter
python3 requests.py
$nft list table ip seen | grep -o 'ct state new counter packets [0-9]*'
root/usr/sbin/conntrack -L 2> /dev/null
END
uname -r | grep '^6\.18\.'
unshare -rn sh inside.sh | tee seen
grep -qx 'ct state new counter packets 3' seen
test "$(grep -c '^dccp' seen)" = 1
grep -qE '^dccp +33 +(599|600) src=127\.0\.0\.1 dst=127\.0\.0\.2 sport=0 dport=0 \[UNREPLIED\]' seen
