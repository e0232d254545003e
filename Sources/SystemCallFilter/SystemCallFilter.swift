import CSeccomp

/// The system calls that this process may make from `load` on: a seccomp filter. For one thread.
@safe package struct SystemCallFilter: ~Copyable {
  package enum Action {
    case allow
    /// The call returns this number of an error.
    case refuse(Int32)

    fileprivate var value: UInt32 {
      switch self {
      case .allow: 0x7fff_0000
      case .refuse(let number): 0x0005_0000 | UInt32(number)
      }
    }
  }

  /// A condition on one argument of a call. Arguments count from 0.
  package struct Condition {
    fileprivate let rule: scmp_arg_cmp

    private init(_ index: UInt32, _ compare: scmp_compare, _ a: UInt64, _ b: UInt64) {
      rule = scmp_arg_cmp(arg: index, op: compare, datum_a: a, datum_b: b)
    }

    package static func argument(_ index: UInt32, is value: UInt64) -> Condition {
      Condition(index, SCMP_CMP_EQ, value, 0)
    }

    package static func argument(_ index: UInt32, atMost value: UInt64) -> Condition {
      Condition(index, SCMP_CMP_LE, value, 0)
    }

    package static func argument(_ index: UInt32, above value: UInt64) -> Condition {
      Condition(index, SCMP_CMP_GT, value, 0)
    }

    /// The bits of `mask` must be those of `value`.
    package static func argument(
      _ index: UInt32, masked mask: UInt64, is value: UInt64
    ) -> Condition {
      Condition(index, SCMP_CMP_MASKED_EQ, mask, value)
    }
  }

  private let filter: scmp_filter_ctx

  /// `others` is for the calls that no rule names. nil if libseccomp has no memory.
  package init?(_ others: Action) {
    guard let filter = unsafe seccomp_init(others.value) else { return nil }
    unsafe self.filter = unsafe filter
  }

  deinit { unsafe seccomp_release(filter) }

  /// Adds a rule, which applies where all conditions hold. Skips a call that this architecture does not have.
  package func add(_ action: Action, _ name: StaticString, _ conditions: Condition...) {
    let number = unsafe seccomp_syscall_resolve_name(
      UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    _ = unsafe seccomp_rule_add_array(
      filter, action.value, number, UInt32(conditions.count), conditions.map(\.rule))
  }

  /// Puts the filter in force for all threads. A call by the numbers of another architecture ends the
  /// process. Returns false if the kernel refuses.
  package func load() -> Bool {
    let kill: UInt32 = 0x8000_0000
    return unsafe seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, kill) == 0
      && seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0
      && seccomp_load(filter) == 0
  }
}
