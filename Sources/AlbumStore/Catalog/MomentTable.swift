import AlbumFormat
import AlbumModel

/// When inodes got their former places, and why. Former places that follow each other with the same moment
/// share one record, so that each of a million files that go at once costs four bytes here.
struct MomentTable: ~Copyable, Sendable {
  /// 24 bytes.
  struct Moment: BitwiseCopyable, Sendable {
    var ended: StoreTime
    var removed: Timestamp
    /// How many former places have it; in a free record, the next free record.
    var users: UInt32
    var reason: FormerPlace.Reason

    fileprivate func isSame(as place: FormerPlace) -> Bool {
      ended == place.ended && removed == place.removed && reason == place.reason
    }
  }

  private var moments = FlatArena<Moment>()
  private var firstFree: UInt32 = .max
  /// The newest of each reason.
  private var newest = [UInt32](repeating: .max, count: Int(UInt8.max) + 1)

  var byteCount: Int { moments.byteCount }

  subscript(place: UInt32) -> Moment { moments[place] }

  /// Returns the moment of a former place that is about to be added.
  mutating func take(for place: FormerPlace) -> UInt32 {
    let last = newest[Int(place.reason.rawValue)]
    if last != .max, moments[last].isSame(as: place) {
      moments[last].users += 1
      return last
    }
    let moment = add(
      Moment(ended: place.ended, removed: place.removed, users: 1, reason: place.reason))
    newest[Int(place.reason.rawValue)] = moment
    return moment
  }

  private mutating func add(_ moment: Moment) -> UInt32 {
    if firstFree == .max { return moments.append(moment) }
    let place = firstFree
    firstFree = moments[place].users
    moments[place] = moment
    return place
  }

  /// A former place with this moment is gone.
  mutating func giveBack(_ place: UInt32) {
    moments[place].users -= 1
    if moments[place].users > 0 { return }
    let reason = Int(moments[place].reason.rawValue)
    if newest[reason] == place { newest[reason] = .max }
    moments[place].users = firstFree
    firstFree = place
  }
}
