import CLinux
import CSeccomp
import Glibc
import ThumbnailProtocol

/// The cell: what this process gives up before it reads the first byte of a picture.
///
/// 1. No descriptor besides the socket and three of /dev/null.
/// 2. Bounded memory and processor time; no files, no core dump; not readable by other processes.
/// 3. Not root, where it was, and without capabilities.
/// 4. No new privileges, and by Landlock no right on any file, port or foreign process.
/// 5. By seccomp no system call but those that move memory, wait, end, and use the socket.
///
/// There must be one thread when it is entered: Landlock binds only the one that asks.
enum Cell {
  /// What may be used up.
  struct Bounds {
    /// Address space in bytes.
    var memory: UInt64
    /// Processor time for one picture in seconds.
    var processorSeconds: UInt64
  }

  /// Answers what is in force. Without seccomp no picture may be read.
  static func enter(_ bounds: Bounds) -> (hasLandlock: Bool, hasSeccomp: Bool) {
    limit(bounds)
    becomeNobody()
    clinux_prctl(ProcessControl.setDumpable, 0, 0)
    // After the change of user, which clears it: no worker outlives its daemon.
    clinux_prctl(ProcessControl.setParentDeathSignal, UInt(SIGKILL), 0)
    guard clinux_prctl(ProcessControl.setNoNewPrivileges, 1, 0) == 0 else { return (false, false) }
    let hasLandlock = clinux_landlock_forbid_all() == 0
    // Landlock itself needs a descriptor for a moment.
    set(RLIMIT_NOFILE, 0)
    return (hasLandlock, Filter.load())
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

  /// Where nobody has no number in this user namespace, root without capabilities must do.
  private static func becomeNobody() {
    let nobody: UInt32 = 65534
    if geteuid() == 0 { _ = clinux_become(nobody, nobody) }
    _ = clinux_drop_capabilities()
  }

  /// Tries what must fail in here.
  static func probe() -> ProbeReport {
    unsafe ProbeReport(
      open: UInt32(clinux_try_open("/proc/self/status")),
      socket: UInt32(clinux_try_socket()),
      fork: UInt32(clinux_try_fork()),
      execute: UInt32(clinux_try_execute("/bin/true")),
      executableMemory: UInt32(clinux_try_executable_memory()))
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
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "restart_syscall",
    // Time and chance.
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "getrandom", "getrusage",
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
    // A thread's name.
    let setName = argument(0, SCMP_CMP_EQ, UInt64(ProcessControl.setName), 0)
    unsafe add(filter, allow, "prctl", [setName])
    // Its own limits may be read; only that of processor time is moved, for each picture.
    let own = argument(0, SCMP_CMP_EQ, 0, 0)
    let noNewLimit = argument(2, SCMP_CMP_EQ, 0, 0)
    let processorTime = argument(1, SCMP_CMP_EQ, UInt64(RLIMIT_CPU.rawValue), 0)
    unsafe add(filter, allow, "prlimit64", [own, noNewLimit])
    unsafe add(filter, allow, "prlimit64", [own, processorTime])
    return unsafe seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0
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
