internal import CLinux
internal import Glibc
internal import SystemCallFilter

/// What a program that speaks to servers gives up before it connects to anybody. A server that takes it over
/// can talk to the network, and can read what any user of the machine can read below /etc and /usr, which the
/// resolver and TLS need: no file of a person, no space, no process, no socket of a daemon.
///
/// The list of calls names what is refused, and not what is permitted as in the thumbnailer's cell: resolver
/// and TLS are libraries of the system, which call what they like.
package enum Confinement {
  private static let nobody: UInt32 = 65534
  /// Options of prctl(2); sys/prctl.h is not in Swift's Glibc module.
  private static let (parentDeathSignal, dumpable, noNewPrivileges): (CInt, CInt, CInt) = (1, 4, 38)
  private static let memory: rlim_t = 2 << 30
  private static let descriptors: rlim_t = 64

  /// The libraries, the certificates, and the resolver's settings.
  private static let readable = [
    "/etc", "/usr", "/lib", "/lib64", "/run/systemd/resolve", "/run/NetworkManager",
    "/run/resolvconf", "/run/connman",
  ]

  /// The kernel lets no other process look into this one. On request, it ends this process with the thread
  /// that started it.
  package static func hide(endingWithCaller endsWithCaller: Bool) {
    if endsWithCaller { _ = clinux_prctl(parentDeathSignal, UInt(SIGKILL), 0) }
    _ = clinux_prctl(dumpable, 0, 0)
  }

  /// Closes every descriptor but the standard ones.
  package static func closeOthers() { clinux_close_from(UInt32(STDERR_FILENO) + 1) }

  /// Returns false if the program must not go on. A kernel without Landlock is no reason. `endsWithCaller` is
  /// that of `hide`.
  package static func enter(endingWithCaller endsWithCaller: Bool) -> Bool {
    if clinux_is_sanitized() == 0 { limit(RLIMIT_AS, memory) }
    limit(RLIMIT_CORE, 0)
    limit(RLIMIT_FSIZE, 0)
    limit(RLIMIT_NOFILE, descriptors)
    signal(SIGXFSZ, SIG_IGN)
    if geteuid() == 0 {
      if clinux_become(nobody, nobody) != 0 { return false }
      // The change of user clears it.
      hide(endingWithCaller: endsWithCaller)
    }
    _ = clinux_drop_capabilities()
    if clinux_prctl(noNewPrivileges, 1, 0) != 0 { return false }
    _ = unsafe clinux_landlock_allow_reading(readable.joined(separator: ":"))
    return RefusedCalls.load()
  }

  private static func limit(_ resource: __rlimit_resource, _ value: rlim_t) {
    var limit = rlimit(rlim_cur: value, rlim_max: value)
    unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }
}

private enum RefusedCalls {
  private static let names: [StaticString] = [
    // Programs and processes.
    "execve", "execveat", "fork", "vfork", "kill", "tkill", "ptrace", "process_vm_readv",
    "process_vm_writev", "process_madvise", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    "kcmp",
    // Namespaces and mounts.
    "unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "move_mount", "open_tree",
    "fsopen",
    "fsmount", "fsconfig", "fspick", "mount_setattr",
    // Interfaces of the kernel that nothing here needs.
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register",
    "keyctl", "add_key", "request_key", "open_by_handle_at", "name_to_handle_at", "init_module",
    "finit_module", "delete_module", "kexec_load", "quotactl", "swapon", "swapoff", "reboot",
    "fanotify_init", "personality",
    // Serving, and memory that others see.
    "listen", "accept", "accept4", "shmget", "shmat", "msgget", "semget", "mq_open",
    // Changes of files, for kernels without Landlock.
    "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
    "symlinkat",
    "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "chmod", "fchmodat", "chown", "lchown",
    "fchownat",
    "truncate", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "utimensat", "creat",
  ]

  /// AF_UNIX, by which daemons of this user could be reached, and whatever is neither IPv4, IPv6 nor netlink.
  private static let families: [UInt64] = [1, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15]
  private static let netlink: UInt64 = 16

  static func load() -> Bool {
    guard let filter = SystemCallFilter(.allow) else { return false }
    let refuse = SystemCallFilter.Action.refuse(EPERM)
    for name in names { filter.add(refuse, name) }
    for family in families { filter.add(refuse, "socket", .argument(0, is: family)) }
    filter.add(refuse, "socket", .argument(0, above: netlink))
    // clone only for threads. clone3 hides its flags from the filter, so it fails and glibc falls back.
    let thread: UInt64 = 0x10000
    filter.add(refuse, "clone", .argument(0, masked: thread, is: 0))
    filter.add(.refuse(ENOSYS), "clone3")
    // Opening for writing.
    for mode in [UInt64(O_WRONLY), UInt64(O_RDWR)] {
      filter.add(refuse, "open", .argument(1, masked: UInt64(O_ACCMODE), is: mode))
      filter.add(refuse, "openat", .argument(2, masked: UInt64(O_ACCMODE), is: mode))
    }
    // openat2 hides its flags, too.
    filter.add(.refuse(ENOSYS), "openat2")
    return filter.load()
  }
}
