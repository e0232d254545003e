import CLinux
import Glibc

/// Prepares the process of a command.
enum ProcessSetup {
  /// Opens /dev/null for missing standard descriptors. Otherwise the first files would get their numbers, and
  /// messages would be written into them.
  static func fillStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      unsafe _ = open("/dev/null", O_RDWR)
    }
  }

  /// Disables core dumps, and debuggers of the same user. Every command that handles a secret calls this.
  ///
  /// The entries of this process under /proc then belong to root; the process itself may still read them.
  static func protectMemory() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = clinux_prctl(PR_SET_DUMPABLE_VALUE, 0, 0)
  }

  /// Sets the name that `ps` and `top` show, at most 15 bytes. Otherwise it would be `exe`.
  static func nameProcess(_ name: String) { unsafe clinux_set_thread_name(name) }

  /// Lets the kernel kill this process when the one that started it has ended.
  static func endWithParent() {
    _ = clinux_prctl(PR_SET_PDEATHSIG_VALUE, CUnsignedLong(SIGKILL), 0)
  }

  /// Closes descriptors that the process inherited by accident.
  static func closeDescriptors(from first: CInt) {
    _ = clinux_close_from(CUnsignedInt(first))
  }
}

/// PR_SET_PDEATHSIG and PR_SET_DUMPABLE of <sys/prctl.h>, which Glibc's module leaves out.
private let (PR_SET_PDEATHSIG_VALUE, PR_SET_DUMPABLE_VALUE): (CInt, CInt) = (1, 4)
