/// How much of the processor and the disk a worker takes beside other programs. A running worker cannot get
/// more: only privileged users may raise a priority.
package enum ProcessorShare: UInt8, CaseIterable, Comparable, Sendable {
  /// The worker runs while no other program wants the processor. On a busy machine it may wait for minutes.
  case leftover = 0
  /// About a tenth of what an ordinary program gets.
  case small = 1
  /// As much as any program.
  case ordinary = 2

  /// The next greater share; the greatest follows itself.
  package var next: ProcessorShare { ProcessorShare(rawValue: rawValue + 1) ?? self }

  package static func < (one: ProcessorShare, other: ProcessorShare) -> Bool {
    one.rawValue < other.rawValue
  }
}
