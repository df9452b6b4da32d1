-- Wireshark and tshark: shows datagrams of UDP port 6511 as DCCP (RFC 6773 encapsulation).
-- Use: tshark -X lua_script:dccp_udp.lua -o dccp.check_checksum:FALSE -r FILE
-- Another port: add -X lua_script1:PORT
local arguments = {...}
local port = tonumber(arguments[1] or 6511)
local dccp = DissectorTable.get("ip.proto"):get_dissector(33)
DissectorTable.get("udp.port"):add(port, dccp)
