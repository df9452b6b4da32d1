"""A guest with Debian's kernel 6.1, the last series whose DCCP has CCID 3: the kernel from the distribution's archive,
unpacked and never installed, an initial file system of busybox and peer.c, and qemu without KVM."""

import re
import shutil
import subprocess
from pathlib import Path

from lines import Lines

HERE = Path(__file__).resolve().parent
PACKAGE = re.compile(r"^linux-image-6\.1\.0-(\d+)-cloud-amd64$", re.MULTILINE)
PROGRAMS = {"apt-get": "apt", "busybox": "busybox-static", "cpio": "cpio", "dpkg-deb": "dpkg", "gcc": "gcc libc6-dev",
            "ip": "iproute2", "qemu-system-x86_64": "qemu-system-x86", "unshare": "util-linux"}
"""Programs that a run needs, each with the Debian packages that have it."""
MODULES = ("virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net "
           "dccp dccp_ipv4 dccp_ipv6 inet_diag dccp_diag").split()
"""In this order: each after those it needs. What the kernel has built in is left out."""
ADDRESS, ADDRESS6, MAC = "10.33.0.2", "fd33::2", "52:54:00:00:00:02"
CLOCK = 0.03
"""Part by which a guest's clock may differ from ours: on a busy machine qemu's may run several times too fast."""

INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc; $B mount -t sysfs sys /sys; $B mount -t devtmpfs dev /dev
for m in $($B cat /modules/order); do $B insmod /modules/$m.ko; done
words=
for w in $($B cat /proc/cmdline); do case $w in peer.*) words="$words ${w#peer.}";; esac; done
echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad
$B ip link set lo up; $B ip addr add %s/24 dev eth0; $B ip addr add %s/64 dev eth0; $B ip link set eth0 up
echo "GUEST $($B uname -r) begins at $($B cut -d' ' -f1 /proc/uptime)"
/bin/peer $words
echo "GUEST ends at $($B cut -d' ' -f1 /proc/uptime)"
$B sleep 60
$B reboot -f
""" % (ADDRESS, ADDRESS6)
"""The first process: afterwards the guest stays for what it may have to send again."""


class NotHere(Exception):
    """The machine lacks something; the message says what."""


def missing():
    """Packages of Debian that a run needs and that are not there."""
    return [package for program, package in PROGRAMS.items() if shutil.which(program) is None]


def compile_peer(program):
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program, HERE / "peer.c"], check=True)


def newest(names):
    """The newest package of the kernel among names, one a line."""
    found = sorted(PACKAGE.finditer(names), key=lambda found: int(found[1]))
    if not found:
        raise NotHere("apt-get knows no linux-image-6.1.0-*-cloud-amd64: it needs the lists of Debian 12 (bookworm)")
    return found[-1][0]


def prepare(cache):
    """Makes the kernel and the initial file system, and returns the name of the kernel's package."""
    cache.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["apt-cache", "pkgnames", "linux-image-6.1.0-"], check=True, capture_output=True, text=True)
    package = newest(names.stdout)
    unpacked = cache / package
    if not (unpacked / "boot").is_dir():
        print(f"   {package}, unpacked into {cache}")
        for old in cache.glob("*.deb"):
            old.unlink()
        fetch = ["apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", package]
        subprocess.run(fetch, cwd=cache, check=True)
        subprocess.run(["dpkg-deb", "-x", next(cache.glob("*.deb")), unpacked], check=True)
    shutil.copy(next((unpacked / "boot").glob("vmlinuz-*")), cache / "kernel")
    tree = cache / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("bin", "dev", "modules", "proc", "sys"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
    compile_peer(tree / "bin/peer")
    order = []
    for name in MODULES:
        for module in unpacked.rglob(f"{name}.ko"):
            shutil.copy(module, tree / "modules")
            order.append(name)
    (tree / "modules/order").write_text("\n".join(order) + "\n")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    with open(cache / "files", "wb") as files:
        pack = ["cpio", "-o", "-H", "newc", "--quiet"]
        archive = subprocess.Popen(pack, cwd=tree, stdin=subprocess.PIPE, stdout=files)
        archive.communicate("\n".join(str(p.relative_to(tree)) for p in sorted(tree.rglob("*"))).encode())
    if archive.returncode:
        raise NotHere("cpio wrote no archive")
    return package


class Guest:
    """A running guest, and what it has printed so far."""

    def __init__(self, cache, words):
        command = "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off tsc=unstable clocksource=hpet "
        command += "nolapic_timer no_timer_check random.trust_cpu=on " + " ".join(f"peer.{w}" for w in words)
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "max", "-m", "128",
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none",
             "-netdev", "tap,id=n,ifname=tap0,script=no,downscript=no",
             "-device", f"virtio-net-pci,netdev=n,mac={MAC},romfile=,csum=off,guest_csum=off,gso=off",
             "-kernel", cache / "kernel", "-initrd", cache / "files", "-append", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.said = Lines(self.process.stdout)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.said.whole()

    def clock(self):
        """The guest's time over ours, between its first line and its last; None without both. One that ended at once
        measured nothing that could be wrong."""
        marks = [(at, float(found[1])) for at, line in zip(self.said.times, self.said.lines)
                 if (found := re.search(r"^GUEST .*(?:begins|ends) at ([\d.]+)", line))]
        if len(marks) != 2:
            return None
        (host, guest), (host_end, guest_end) = marks
        return (guest_end - guest) / (host_end - host) if host_end - host > 2 else 1.0
