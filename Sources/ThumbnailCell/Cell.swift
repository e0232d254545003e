import CFreshMemory
import CLinux
import Glibc
import SystemCallFilter
import ThumbnailProtocol

/// The cell: the rights that this process drops before it reads the first byte of a picture or video.
///
/// 1. It has no descriptors except the socket and three of /dev/null.
/// 2. It is the first to be killed when memory runs out. It takes the share of processor and disk that the
///    daemon chose.
/// 3. Its memory and processor time are limited; it can write no files and no core dump, and other processes
///    cannot read its memory.
/// 4. It is not root, has no capabilities, and has a user namespace of its own, where the kernel counts its
///    threads.
/// 5. It can gain no privileges, and Landlock denies any right on files, ports and other processes.
/// 6. seccomp permits only the system calls to manage memory, wait, end, and use the socket. That alone
///    suffices on kernels without Landlock too, because none of these calls can name another process.
///
/// It must have one thread when it enters the cell, because Landlock binds only the calling thread.
enum Cell {
  /// The limits of the cell.
  struct Bounds {
    /// Address space, in bytes.
    var memory: UInt64
    /// Processor time for one picture, in seconds.
    var processorSeconds: UInt64
    /// For tests: as on a kernel without these.
    var hidesLandlock = false
    var hidesNamespaces = false
    var share = ProcessorShare.leftover
  }

  struct Protection {
    var hasLandlock = false
    var hasSeccomp = false
    var boundsThreads = false
  }

  /// The limit on threads, equal to the daemon's own.
  private static let threadLimit: UInt64 = 128

  /// Returns the protection in force. Without seccomp the process must not read a picture.
  static func enter(_ bounds: Bounds) -> Protection {
    var protection = Protection()
    clinux_probe_prepare()
    // Best effort: without these the cell can still decode.
    _ = clinux_yield_memory()
    take(bounds.share)
    limit(bounds)
    protection.boundsThreads = becomeNobody(bounds)
    clinux_prctl(ProcessControl.setDumpable, 0, 0)
    // After the change of user, which clears this setting. The kernel then kills the worker with its daemon.
    clinux_prctl(ProcessControl.setParentDeathSignal, UInt(SIGKILL), 0)
    guard clinux_prctl(ProcessControl.setNoNewPrivileges, 1, 0) == 0 else { return protection }
    protection.hasLandlock = !bounds.hidesLandlock && clinux_landlock_forbid_all() == 0
    // Landlock needs a descriptor for a moment, so this limit comes after it.
    set(RLIMIT_NOFILE, 0)
    protection.hasSeccomp = Filter.load()
    return protection
  }

  /// Gives the next picture its own processor time: the limit is the time used so far plus the bound.
  static func beginPicture(_ bounds: Bounds) {
    var usage = rusage()
    guard unsafe getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return }
    let used: Duration = .seconds(usage.ru_utime.tv_sec) + .seconds(usage.ru_stime.tv_sec)
    let allowed = used.components.seconds + 1 + Int64(clamping: bounds.processorSeconds)
    var limit = rlimit(rlim_cur: rlim_t(clamping: allowed), rlim_max: .max)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
  }

  private static func take(_ share: ProcessorShare) {
    switch share {
    case .leftover: _ = clinux_yield_to_all()
    case .small: _ = clinux_take_small_share()
    case .ordinary: break
    }
  }

  private static func limit(_ bounds: Bounds) {
    if clinux_is_sanitized() == 0 { set(RLIMIT_AS, bounds.memory) }
    set(RLIMIT_CORE, 0)
    set(RLIMIT_FSIZE, 0)
    // A library's warning on a standard error that is a file must not end the process.
    signal(SIGXFSZ, SIG_IGN)
  }

  private static func set(_ resource: __rlimit_resource, _ value: UInt64) {
    var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
    unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }

  /// Becomes the user nobody. If nobody has no number in this user namespace, root without capabilities must
  /// do. Returns true if the kernel limits its threads. RLIMIT_NPROC counts all processes of a user, and
  /// would make pictures fail because of other programs, unless the process is alone in its namespace.
  private static func becomeNobody(_ bounds: Bounds) -> Bool {
    let nobody: UInt32 = 65534
    if geteuid() == 0 { _ = clinux_become(nobody, nobody) }
    let isAlone = !bounds.hidesNamespaces && clinux_own_user_namespace() == 0
    if isAlone { set(__RLIMIT_NPROC, threadLimit) }
    _ = clinux_drop_capabilities()
    return isAlone
  }

  /// Tries what the cell must refuse.
  static func probe() -> ProbeReport {
    let tries = (0..<clinux_probe_count()).map { index in
      ProbeReport.Try(
        name: unsafe clinux_probe_name(index).map { unsafe String(cString: $0) } ?? "",
        error: UInt32(clinux_probe(index)))
    }
    return ProbeReport(
      ownSignal: UInt32(clinux_probe_own_signal()), threads: UInt32(clinux_probe_threads(1000, 0)),
      oldBytes: UInt32(clamping: cfreshmemory_try()), tries: tries)
  }
}

/// Options of prctl(2); sys/prctl.h is not in Swift's Glibc module.
private enum ProcessControl {
  static let setParentDeathSignal: CInt = 1
  static let setDumpable: CInt = 4
  static let setName: CInt = 15
  static let setNoNewPrivileges: CInt = 38
}

/// The seccomp filter: a list of permitted calls. Any other call returns EPERM, so that a library can do
/// without it.
private enum Filter {
  /// Permitted with any arguments.
  private static let allowed: [StaticString] = [
    // The socket, the only useful descriptor.
    "read", "write", "writev", "poll", "ppoll",
    // Memory.
    "munmap", "mremap", "brk", "madvise",
    // Threads.
    "futex", "set_robust_list", "rseq", "gettid", "getpid", "sched_yield", "sched_getaffinity",
    "exit", "exit_group",
    // Signals: for abort() and the runtime.
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    // Time and random numbers.
    "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "getrandom",
    "getrusage",
  ]

  static func load() -> Bool {
    guard let filter = SystemCallFilter(.refuse(EPERM)) else { return false }
    for name in allowed { filter.add(.allow, name) }
    // Memory, but never executable.
    filter.add(.allow, "mmap", .argument(2, masked: UInt64(PROT_EXEC), is: 0))
    filter.add(.allow, "mprotect", .argument(2, masked: UInt64(PROT_EXEC), is: 0))
    // clone only for threads. clone3 hides its flags from the filter, so it fails and glibc falls back to
    // clone.
    let thread: UInt64 = 0x10000
    let newNamespaces: UInt64 = 0x7e02_0080
    filter.add(.allow, "clone", .argument(0, masked: thread | newNamespaces, is: thread))
    filter.add(.refuse(ENOSYS), "clone3")
    // Signals to itself. Without Landlock this keeps other processes out of reach.
    filter.add(.allow, "tgkill", .argument(0, is: UInt64(getpid())))
    // The clocks of the machine and of this process. Higher numbers belong to other processes.
    filter.add(.allow, "clock_gettime", .argument(0, atMost: UInt64(CLOCK_TAI)))
    // The name of a thread.
    filter.add(.allow, "prctl", .argument(0, is: UInt64(ProcessControl.setName)))
    // The process may read its own limits. It may set only that of processor time, for each picture.
    filter.add(.allow, "prlimit64", .argument(0, is: 0), .argument(2, is: 0))
    filter.add(
      .allow, "prlimit64", .argument(0, is: 0), .argument(1, is: UInt64(RLIMIT_CPU.rawValue)))
    return filter.load()
  }
}
