import AlbumModel
import AlbumStore

extension Catalog {
  /// The inode with a number; `.stale` where there is none.
  func require(_ inode: InodeNumber) throws(FSError) -> InodeIndex {
    guard let index = index(of: inode) else {
      throw FSError(.stale, "no inode \(inode.rawValue)")
    }
    return index
  }
}
