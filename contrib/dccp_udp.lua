-- Wireshark and tshark: shows datagrams of UDP port 6511 as DCCP (RFC 6773 encapsulation).
-- Use: tshark -X lua_script:dccp_udp.lua -o dccp.check_checksum:FALSE -r FILE
local dccp = DissectorTable.get("ip.proto"):get_dissector(33)
DissectorTable.get("udp.port"):add(6511, dccp)
