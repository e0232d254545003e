import AlbumModel

/// Distances from UTC that photos of one folder state. They tell the local time of films that state UTC
/// alone.
package struct KnownOffsets {
  private let known: [(seconds: Int64, offset: Int)]

  /// A photo that was taken longer before or after says nothing: its place may be another.
  private static let reach: Int64 = 86_400

  package init(of dates: some Sequence<FileDate>) {
    known = dates.compactMap { date in
      guard !date.isWorldTime, let offset = date.time.offset, let seconds = date.seconds else {
        return nil
      }
      return (seconds, offset)
    }
  }

  /// In minutes: that of the photo that was taken nearest to a time in UTC. nil if none was taken within a
  /// day.
  package func offset(at seconds: Int64) -> Int? {
    let nearest = known.min { abs($0.seconds - seconds) < abs($1.seconds - seconds) }
    guard let nearest, abs(nearest.seconds - seconds) <= KnownOffsets.reach else { return nil }
    return nearest.offset
  }
}

extension FileDate {
  /// The day as the photographer's clock showed it, `YYYY-MM-DD`. Where neither the file nor a photo beside
  /// it knows that clock, `machineDay` returns the day of a time in UTC.
  package func day(
    beside photos: KnownOffsets, machineDay: (_ seconds: Int64) -> String
  ) -> String {
    guard isWorldTime, let seconds else { return time.day }
    return photos.offset(at: seconds).map { local(offset: $0).day } ?? machineDay(seconds)
  }
}
