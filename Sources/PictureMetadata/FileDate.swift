package import AlbumModel
import FileKinds

/// When the content of a file was taken, as far as the file says: its content, else its name.
///
/// `import`, `tidy`, `list-photos` and the gallery date a file by these rules alone.
package struct FileDate: Equatable, Sendable {
  package let time: CaptureTime
  /// True if the time is in UTC because nothing knew the local one: of most films. The day of such a time may
  /// be the one before or after the photographer's.
  package let isWorldTime: Bool

  private init(_ time: CaptureTime, isWorldTime: Bool) {
    (self.time, self.isWorldTime) = (time, isWorldTime)
  }

  /// What the content states. Containers of films have no other clock than UTC; cameras that know the local
  /// one state its offset.
  package init(stated time: CaptureTime, isFilm: Bool) {
    self.init(time, isWorldTime: isFilm && time.offset == 0)
  }

  /// A time in UTC, in seconds since 1970, as an online service states it. nil outside of the years that
  /// photography has.
  package init?(worldSeconds seconds: Int) {
    guard FileDate.seconds ~= seconds, let time = CaptureTime(seconds: seconds) else { return nil }
    self.init(time, isWorldTime: true)
  }

  /// From 1800 to 2999, roughly.
  private static let seconds = -5_400_000_000...32_500_000_000

  /// nil if the name has no date.
  package init?(in name: [UInt8]) {
    guard let time = NamedDate.find(in: name) else { return nil }
    self.init(time, isWorldTime: time.offset == 0)
  }

  /// What a file states; nil if it states nothing.
  package init?(size: Int64, _ read: CaptureDate.Read) {
    guard let time = CaptureDate.find(size: size, read) else { return nil }
    let kind = read(ImageKind.sniffByteCount, 0).flatMap { ImageKind(sniffing: $0) }
    self.init(stated: time, isFilm: kind.map { ImageKind.videos.contains($0) } ?? false)
  }

  /// For a film that states UTC alone: the local clock that its name has (`VID_20190505_233000.mp4`), if it
  /// can be that of the same instant.
  package func refined(by name: [UInt8]) -> FileDate {
    guard isWorldTime, let seconds, let named = NamedDate.find(in: name), named.offset == nil,
      named.hour + named.minute + named.second > 0
    else { return self }
    let ahead = named.clockSeconds - seconds
    guard abs(ahead) <= FileDate.farthestClock else { return self }
    return FileDate(named, isWorldTime: false)
  }

  /// The farthest zone from UTC, in seconds.
  private static let farthestClock: Int64 = 14 * 3600

  /// Seconds since 1970 in UTC; nil if the distance from UTC is unknown.
  package var seconds: Int64? { time.offset.map { time.clockSeconds - Int64($0) * 60 } }

  /// True if no zone of the Earth explains the difference between the two: one of them was corrected, or is
  /// wrong.
  package func contradicts(_ other: FileDate) -> Bool {
    abs(time.clockSeconds - other.time.clockSeconds) > FileDate.farthestClock + 3600
  }

  /// The time as a clock showed it that was `offset` minutes ahead of UTC.
  package func local(offset: Int) -> CaptureTime {
    guard let seconds, let shown = CaptureTime(seconds: Int(seconds) + offset * 60) else {
      return time
    }
    return shown.with(offset: offset)
  }
}
