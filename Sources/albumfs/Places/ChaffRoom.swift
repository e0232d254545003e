import AlbumModel
import ControlProtocol

/// The room that chaff may take of a disk.
enum ChaffRoom {
  /// The number of segments that stay free on the disk for spaces that may be mounted.
  private static let spared: Int64 = 8

  /// Throws if so many segments of chaff do not fit. `segment` and `available` are in bytes.
  static func require(_ count: Int64, _ segment: Int64, _ available: Int64) throws {
    let (needed, isAbsurd) = count.saturatingAdd(spared).multipliedReportingOverflow(by: segment)
    if !isAbsurd, needed <= available { return }
    throw Failure(
      .diskFull,
      "The disk has \(SizeArgument.readable(available)) left, of which "
        + "\(SizeArgument.readable(spared * segment)) are reserved for the spaces of the store; "
        + "nothing was added.")
  }
}
