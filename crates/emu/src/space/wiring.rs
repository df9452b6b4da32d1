//! The wire between a node's namespace and the engine: a pair of virtual Ethernet interfaces with a
//! packet socket at the engine's end.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::net::if_::InterfaceFlags;
use rtnetlink::packet_route::link::{InfoData, InfoVeth, LinkMessage};
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Handle, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder};

use super::NodeSpace;
use crate::ip::PREFIX;
use crate::{SandboxError, system};

/// The engine's end of a node's wire.
#[derive(Debug)]
pub(crate) struct Wire {
    /// A packet socket.
    pub(crate) fd: OwnedFd,
    /// Hardware address of the node's interface.
    pub(crate) hardware: [u8; 6],
}

/// Interface of a node, in its namespace.
const INTERFACE: &str = "net0";

/// Longest packet on a wire, bytes with the IP header.
pub(crate) const MTU: u32 = 1500;

/// Asked for at the engine's packet sockets, bytes: some thousand packets wait there if the engine
/// comes late. The system may give less.
const BUFFER: i32 = 16 << 20;

/// Joins a node to the engine, gives it its address and takes it into service. `number`
/// distinguishes the wires of one emulation.
///
/// # Errors
/// [`SandboxError::SetUp`] with the step that failed.
pub(crate) fn wire(node: &NodeSpace, number: u8) -> Result<Wire, SandboxError> {
    let set_up = |what: &str| SandboxError::set_up(format!("{what} of {}", node.name()));
    let hardware = [0x02, 0x74, 0x66, 0x72, 0x63, number];
    let near = format!("to-{number}");
    let peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(INTERFACE)
        .address(hardware.to_vec())
        .setns_by_fd(node.namespace().as_raw_fd())
        .build();
    let pair = LinkMessageBuilder::<LinkVeth>::new(&near, INTERFACE)
        .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
        .mtu(MTU)
        .build();
    let made = block_on(async move {
        let handle = connect()?;
        add(&handle, pair).await?;
        change(&handle, LinkUnspec::new_with_name(&near).arp(false).up().build()).await?;
        Ok(near)
    });
    let near = made.map_err(set_up("pair of interfaces"))?;
    let index = nix::net::if_::if_nametoindex(near.as_str())
        .map_err(|error| SandboxError::set_up("interface")(error.into()))?;
    let fd = system::packet_socket(index, BUFFER).map_err(set_up("packet socket"))?;
    system::turn_offloads_off(fd.as_fd(), &near).map_err(set_up("offloads"))?;
    let address = node.address();
    let served = node.run(async move { into_service(address).await });
    served.and_then(|served| served).map_err(set_up("interface"))?;
    Ok(Wire { fd, hardware })
}

/// Sets up the interfaces of a node, from inside its namespace.
async fn into_service(address: Ipv4Addr) -> io::Result<()> {
    let handle = connect()?;
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    system::turn_offloads_off(socket.as_fd(), INTERFACE)?;
    without_ipv6();
    change(&handle, LinkUnspec::new_with_name("lo").up().build()).await?;
    // No address resolution: frames carry the node's own address, and the engine sets the other's.
    let ours = LinkUnspec::new_with_name(INTERFACE).mtu(MTU).arp(false).txqueuelen(QUEUE).up();
    change(&handle, ours.build()).await?;
    let index = nix::net::if_::if_nametoindex(INTERFACE)?;
    handle.address().add(index, IpAddr::V4(address), PREFIX).execute().await.map_err(told)?;
    // Elsewhere a route to all other networks leads there.
    for (group, length) in [(Ipv4Addr::new(224, 0, 0, 0), 4), (Ipv4Addr::BROADCAST, 32)] {
        let route = RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(group, length);
        let route = route.output_interface(index).scope(RouteScope::Link);
        handle.route().add(route.build()).execute().await.map_err(told)?;
    }
    Ok(())
}

/// Turns IPv6 off in the namespace of the calling thread: its interfaces would fill the wires with
/// router solicitations and the like, and programs get the system's refusal instead of silence.
/// Kernels without it have nothing to stop.
pub(crate) fn without_ipv6() {
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
}

/// Waits until the kernel says that a node's interface runs: it does so up to a second after both
/// ends are up, and programs leave out an interface that does not run.
///
/// # Errors
/// [`SandboxError::SetUp`] if it does not run after [`LONGEST_WAIT`].
pub(crate) fn await_running(node: &NodeSpace) -> Result<(), SandboxError> {
    let running = node.run(async {
        let looks = async {
            while !runs()? {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(())
        };
        tokio::time::timeout(LONGEST_WAIT, looks).await?
    });
    let what = format!("interface of {}, which has to run", node.name());
    running.and_then(|running| running).map_err(SandboxError::set_up(what))
}

/// True of the interface of the namespace that the thread is in.
fn runs() -> io::Result<bool> {
    let mut all = nix::ifaddrs::getifaddrs()?;
    Ok(all.any(|one| one.interface_name == INTERFACE && one.flags.contains(InterfaceFlags::IFF_RUNNING)))
}

const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Packets that may wait in front of a node's interface: on a wire without a rate of its own, none
/// do for long.
const QUEUE: u32 = 10_000;

fn connect() -> io::Result<Handle> {
    let (connection, handle, _) = rtnetlink::new_connection()?;
    tokio::spawn(connection);
    Ok(handle)
}

async fn add(handle: &Handle, message: LinkMessage) -> io::Result<()> {
    handle.link().add(message).execute().await.map_err(told)
}

async fn change(handle: &Handle, message: LinkMessage) -> io::Result<()> {
    handle.link().set(message).execute().await.map_err(told)
}

fn told(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other.to_string()),
    }
}

/// Runs a task in the engine's own namespace.
fn block_on<T>(task: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(task)
}
