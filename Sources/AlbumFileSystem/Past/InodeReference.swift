import AlbumFormat
package import AlbumModel
import AlbumStore

/// Keeps an inode in the space, also when it has lost its last name. Any thread; its end may change the
/// catalog, so it ends without a lock.
package final class InodeReference: Sendable {
  package let inode: InodeNumber
  private let owner: Owner

  private enum Owner {
    case space(Space, InodeReferences)
    case past(PastNodes)
  }

  /// `catalog` is the space's, under its lock.
  init(_ index: InodeIndex, in catalog: borrowing Catalog, of space: Space) {
    inode = catalog.state(index).number
    owner = .space(space, catalog.references)
    catalog.references.take(inode)
  }

  /// Keeps the number of a node of the past. The point keeps its inode.
  init(_ nodes: PastNodes, _ target: PastTarget, photos: PastPhotos?) {
    owner = .past(nodes)
    inode = nodes.take(target, photos: photos)
  }

  deinit {
    switch owner {
    case .past(let nodes): nodes.giveBack(inode)
    case .space(let space, let references):
      if references.giveBack(inode) { space.change { $0.removeIfUnused(inode) } }
    }
  }
}
