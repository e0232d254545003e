internal import Glibc

/// The work that is left for one poster, in both attempts together. A hostile video sends the search to and
/// fro, and each of its few bytes may ask for much work. For one thread.
///
/// `RangeBudget` limits the bytes that are read, and `LibAV.prepare` limits the size of FFmpeg's blocks of
/// memory. Where FFmpeg works without calling back, the cell's limit of processor time ends the work.
final class Effort {
  /// More pixels than a frame of 8K has.
  static let framePixels: Int64 = 64 << 20
  /// More bytes than any key frame has.
  static let packetByteCount = 32 << 20
  /// More than the slowest decoder needs for some frames of 8K.
  static let processorTime = Duration.seconds(15)

  private var reads = 50_000
  /// More than a key frame and its neighbours have.
  private var packets = 10_000
  /// A packet of few bytes can fill the largest frame, or fail to.
  private var pixels = 16 * framePixels
  private let start = Effort.clock

  /// False when the time is over.
  var isLeft: Bool { Effort.clock - start < Effort.processorTime }

  /// Charges a read or a seek, also beyond the end, where nothing is read. Returns false if none is left.
  func chargeRead() -> Bool {
    reads -= 1
    return reads >= 0 && isLeft
  }

  /// Charges a packet of the container.
  func chargePacket() -> Bool {
    packets -= 1
    return packets >= 0 && isLeft
  }

  /// Charges a frame that is to be decoded.
  func charge(width: Int64, height: Int64) -> Bool {
    let (area, isTooMuch) = max(0, width).multipliedReportingOverflow(by: max(0, height))
    if isTooMuch || area > pixels { return false }
    pixels -= area
    return isLeft
  }

  /// Processor time of this process. The worker runs only while no other program wants the processor, so
  /// elapsed time would end videos that are well.
  private static var clock: Duration {
    .microseconds(Int64(Glibc.clock()) * 1_000_000 / Int64(CLOCKS_PER_SEC))
  }
}
