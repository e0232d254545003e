import AlbumModel
import Posix

// A file at a point has a node number of its own, with the highest bit set: the kernel must not take a file
// as it was for the file as it is.

/// The object that a node number with the highest bit stands for.
enum PastTarget: Hashable {
  /// `.snapshots`, the directory of the points.
  case list
  /// A symlink of that directory: a time that leads to the name of the first point from then on.
  case link(to: FileName)
  /// An inode as it was at a point.
  case inode(InodeNumber, at: InodeNumber)
}

/// The directories whose photos a directory of the Thumb zone shows, as they were at a point.
struct PastPhotos: Equatable {
  /// Photo, or the folder in it.
  var folder: InodeNumber?
  var album: InodeNumber?
}

/// The nodes of the past that callers know, by number. Any thread.
final class PastNodes: Sendable {
  struct Node {
    let target: PastTarget
    let photos: PastPhotos?
    fileprivate var count = 0
  }

  private struct State {
    /// Numbers are not used again: a caller may remember one.
    var last = PastNodes.root.rawValue
    var numbers: [PastTarget: InodeNumber] = [:]
    var nodes: [InodeNumber: Node] = [:]
  }

  static let list = InodeNumber(1 << 63)
  /// The root of a mount that shows a point.
  static let root = InodeNumber(1 << 63 | 1)

  private let shownPoint: InodeNumber?
  private let state = Mutex(State(), rank: .leaf)

  /// `shownPoint`: the point that the root shows.
  init(root shownPoint: InodeNumber?) { self.shownPoint = shownPoint }

  /// Finds or makes the node of a target, for one more caller.
  func take(_ target: PastTarget, photos: PastPhotos? = nil) -> InodeNumber {
    if target == .list { return PastNodes.list }
    return state.withLock { state in
      if let number = state.numbers[target] {
        state.nodes[number]?.count += 1
        return number
      }
      state.last += 1
      let number = InodeNumber(state.last)
      state.numbers[target] = number
      state.nodes[number] = Node(target: target, photos: photos, count: 1)
      return number
    }
  }

  func giveBack(_ number: InodeNumber) {
    state.withLock { state in
      guard let node = state.nodes[number] else { return }
      state.nodes[number]!.count -= 1
      if node.count > 1 { return }
      state.nodes[number] = nil
      state.numbers[node.target] = nil
    }
  }

  /// nil for a number that no caller knows.
  func node(_ number: InodeNumber) -> Node? {
    switch number {
    case PastNodes.list: return Node(target: .list, photos: nil)
    case PastNodes.root:
      return shownPoint.map { Node(target: .inode(.root, at: $0), photos: nil) }
    default: return state.withLock { $0.nodes[number] }
    }
  }
}

extension InodeNumber {
  /// True for a node of the past.
  var isPast: Bool { rawValue >> 63 == 1 }
}
