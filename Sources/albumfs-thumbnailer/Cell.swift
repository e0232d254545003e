import CFreshMemory
import CLinux
import CSeccomp
import Glibc
import ThumbnailProtocol

/// The cell: what this process gives up before it reads the first byte of a picture.
///
/// 1. No descriptor besides the socket and three of /dev/null.
/// 2. Behind all others for processor and disk, and before all others when memory runs out.
/// 3. Bounded memory and processor time; no files, no core dump; not readable by other processes.
/// 4. Not root, where it was, and without capabilities; in a user namespace of its own, where its
///    threads are counted.
/// 5. No new privileges, and by Landlock no right on any file, port or foreign process.
/// 6. By seccomp no system call but those that move memory, wait, end, and use the socket. That alone
///    suffices: it names no other process, on kernels without Landlock too.
///
/// There must be one thread when it is entered: Landlock binds only the one that asks.
enum Cell {
  /// What may be used up.
  struct Bounds {
    /// Address space in bytes.
    var memory: UInt64
    /// Processor time for one picture in seconds.
    var processorSeconds: UInt64
    /// For tests: as on a kernel without these.
    var hidesLandlock = false
    var hidesNamespaces = false
    /// Takes its share of the processor as any program does.
    var isEager = false
  }

  struct Protection {
    var hasLandlock = false
    var hasSeccomp = false
    var boundsThreads = false
  }

  /// As many threads as the daemon lets it have, too.
  private static let threadLimit: UInt64 = 128

  /// Answers what is in force. Without seccomp no picture may be read.
  static func enter(_ bounds: Bounds) -> Protection {
    var protection = Protection()
    clinux_probe_prepare()
    // Best effort: where it is refused, the pictures are decoded as well.
    if !bounds.isEager { _ = clinux_yield_to_all() }
    limit(bounds)
    protection.boundsThreads = becomeNobody(bounds)
    clinux_prctl(ProcessControl.setDumpable, 0, 0)
    // After the change of user, which clears it: no worker outlives its daemon.
    clinux_prctl(ProcessControl.setParentDeathSignal, UInt(SIGKILL), 0)
    guard clinux_prctl(ProcessControl.setNoNewPrivileges, 1, 0) == 0 else { return protection }
    protection.hasLandlock = !bounds.hidesLandlock && clinux_landlock_forbid_all() == 0
    // Landlock itself needs a descriptor for a moment.
    set(RLIMIT_NOFILE, 0)
    protection.hasSeccomp = Filter.load()
    return protection
  }

  /// Gives the next picture its own processor time: what was used so far, and the bound.
  static func beginPicture(_ bounds: Bounds) {
    var usage = rusage()
    guard unsafe getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return }
    let used = UInt64(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1)
    var limit = rlimit(rlim_cur: rlim_t(used + bounds.processorSeconds), rlim_max: .max)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
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

  /// Where nobody has no number in this user namespace, root without capabilities must do. Answers
  /// whether its threads are bounded: RLIMIT_NPROC counts all that a user runs, and would make pictures
  /// fail because of other programs, unless the process has a namespace where it is alone.
  private static func becomeNobody(_ bounds: Bounds) -> Bool {
    let nobody: UInt32 = 65534
    if geteuid() == 0 { _ = clinux_become(nobody, nobody) }
    let isAlone = !bounds.hidesNamespaces && clinux_own_user_namespace() == 0
    if isAlone { set(__RLIMIT_NPROC, threadLimit) }
    _ = clinux_drop_capabilities()
    return isAlone
  }

  /// Tries what must fail in here.
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

/// Options of prctl(2): sys/prctl.h is not in Swift's Glibc module.
private enum ProcessControl {
  static let setParentDeathSignal: CInt = 1
  static let setDumpable: CInt = 4
  static let setName: CInt = 15
  static let setNoNewPrivileges: CInt = 38
}

/// The seccomp filter: a list of what is allowed. All else answers EPERM, so that a library that
/// asks for something it can do without goes on.
private enum Filter {
  /// Allowed whatever the arguments.
  private static let allowed: [StaticString] = [
    // The socket, which is the only descriptor of use.
    "read", "write", "writev", "poll", "ppoll",
    // Memory.
    "munmap", "mremap", "brk", "madvise",
    // Threads.
    "futex", "set_robust_list", "rseq", "gettid", "getpid", "sched_yield", "sched_getaffinity",
    "exit", "exit_group",
    // Signals: abort() and the runtime's own.
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    // Time and chance.
    "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "getrandom",
    "getrusage",
  ]

  static func load() -> Bool {
    let permissionDenied = 0x0005_0000 | UInt32(EPERM)
    guard let filter = unsafe seccomp_init(permissionDenied) else { return false }
    defer { unsafe seccomp_release(filter) }
    let allow: UInt32 = 0x7fff_0000
    for name in allowed { unsafe add(filter, allow, name) }
    // Memory that is never executable.
    let notExecutable = argument(2, SCMP_CMP_MASKED_EQ, UInt64(PROT_EXEC), 0)
    unsafe add(filter, allow, "mmap", [notExecutable])
    unsafe add(filter, allow, "mprotect", [notExecutable])
    // clone makes threads only. clone3 hides its flags from the filter; glibc falls back to clone.
    let thread: UInt64 = 0x10000
    let newNamespaces: UInt64 = 0x7e02_0080
    let flags = argument(0, SCMP_CMP_MASKED_EQ, thread | newNamespaces, thread)
    unsafe add(filter, allow, "clone", [flags])
    unsafe add(filter, 0x0005_0000 | UInt32(ENOSYS), "clone3")
    // Signals to itself. Without Landlock's help this is what keeps other processes out of its reach.
    let itself = argument(0, SCMP_CMP_EQ, UInt64(getpid()), 0)
    unsafe add(filter, allow, "tgkill", [itself])
    // The clocks of the machine and its own; those above belong to other processes.
    let clock = argument(0, SCMP_CMP_LE, UInt64(CLOCK_TAI), 0)
    unsafe add(filter, allow, "clock_gettime", [clock])
    // A thread's name.
    let setName = argument(0, SCMP_CMP_EQ, UInt64(ProcessControl.setName), 0)
    unsafe add(filter, allow, "prctl", [setName])
    // Its own limits may be read; only that of processor time is moved, for each picture.
    let own = argument(0, SCMP_CMP_EQ, 0, 0)
    let noNewLimit = argument(2, SCMP_CMP_EQ, 0, 0)
    let processorTime = argument(1, SCMP_CMP_EQ, UInt64(RLIMIT_CPU.rawValue), 0)
    unsafe add(filter, allow, "prlimit64", [own, noNewLimit])
    unsafe add(filter, allow, "prlimit64", [own, processorTime])
    // Calls by the numbers of another architecture end the process.
    let kill: UInt32 = 0x8000_0000
    return unsafe seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, kill) == 0
      && seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0
      && seccomp_load(filter) == 0
  }

  /// A call that this architecture does not have needs no rule.
  private static func add(
    _ filter: scmp_filter_ctx, _ action: UInt32, _ name: StaticString,
    _ arguments: [scmp_arg_cmp] = []
  ) {
    let number = unsafe seccomp_syscall_resolve_name(
      UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    _ = unsafe seccomp_rule_add_array(
      filter, action, number, UInt32(arguments.count), arguments)
  }

  private static func argument(_ index: UInt32, _ compare: scmp_compare, _ a: UInt64, _ b: UInt64)
    -> scmp_arg_cmp
  {
    scmp_arg_cmp(arg: index, op: compare, datum_a: a, datum_b: b)
  }
}
