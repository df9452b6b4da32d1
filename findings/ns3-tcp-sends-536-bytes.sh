#!/bin/sh
# Guess: the TCP of ns-3 that a script gets without a word about it is a NewReno with segments of about
# 1460 bytes, as in the tutorials and papers that it stands in for a real one.
# Run: ns-3.44 (the wheel 3.44.post0), the initial values of its attributes: CUBIC with PRR, segments of
# 536 bytes, a least retransmission timeout of 1 s, where Linux has 200 ms, buffers of 128 KiB, which end
# a flow at 10 Mbit/s over 100 ms, and neither ECN nor pacing. A queue of so many packets is a third as
# long in bytes as one of a kernel's.
# Here: `docs/habits.md` has these values and what they cost; segments of `tfrc sim` are 1460 bytes for
# each kind of TCP, and `settings = "linux"` has the kernel's timeouts.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv ns3
ns3/bin/pip install --quiet ns3==3.44.post0 cppyy==3.5.0
cat > attributes.py <<'END'
from ns import ns

ns.cppyy.cppdef("""
std::string initial(std::string type, std::string name) {
    ns3::TypeId id = ns3::TypeId::LookupByName(type);
    ns3::TypeId::AttributeInformation about;
    return id.LookupAttributeByName(name, &about) ? about.initialValue->SerializeToString(about.checker) : "none";
}
""")
for type, names in (
    ("TcpL4Protocol", ("SocketType", "RecoveryType")),
    ("TcpSocket", ("SegmentSize", "InitialCwnd", "SndBufSize", "RcvBufSize")),
    ("TcpSocketBase", ("MinRto", "UseEcn")),
    ("TcpSocketState", ("EnablePacing",)),
):
    for name in names:
        print(name, ns.cppyy.gbl.initial("ns3::" + type, name))
END
ns3/bin/python attributes.py 2> words | tee seen
cat > expected <<'END'
SocketType ns3::TcpCubic
RecoveryType ns3::TcpPrrRecovery
SegmentSize 536
InitialCwnd 10
SndBufSize 131072
RcvBufSize 131072
MinRto +1e+09ns
UseEcn Off
EnablePacing false
END
diff expected seen
