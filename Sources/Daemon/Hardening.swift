import CLinux
import Glibc

/// What keeps keys in memory from getting out of it.
package enum Hardening {
  /// No core dumps, and no debugger of the same user: for every command that handles a secret.
  ///
  /// From then on the entries of this process under /proc belong to root; the process itself may
  /// still read them.
  package static func protectMemory() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = clinux_prctl(PR_SET_DUMPABLE_VALUE, 0, 0)
  }

  /// Memory that is no longer used goes back to the kernel, rather than wait in arenas for more like
  /// it: a password's 256 MiB and segments of 4 MiB are all that is large here.
  static func boundMemory() { clinux_bound_malloc() }

  /// As many open files as the kernel allows: one for each segment that is read.
  static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

extension Hardening {
  /// What `ps` and `top` show; at most 15 bytes. Without that it would be `exe`.
  package static func nameProcess(_ name: String) { unsafe clinux_set_thread_name(name) }

  /// Closes what was inherited by accident.
  package static func closeDescriptors(from first: CInt) {
    _ = clinux_close_from(CUnsignedInt(first))
  }
}

/// PR_SET_DUMPABLE of <sys/prctl.h>, which Glibc's module leaves out.
private let PR_SET_DUMPABLE_VALUE: CInt = 4
