import AlbumModel
import Posix
import Testing

@testable import Gallery

/// What the index says of albums whose details are read.
@Suite struct SpaceIndexTests {
  private func album(_ inode: UInt64, _ name: String, photos: Int, isRead: Bool) -> FoundAlbum {
    let rows = (0..<photos).map { number in
      var row = PhotoRow(
        name: FileName(known: Array("\(number).jpg".utf8)), inode: inode * 100 + UInt64(number),
        size: 1, modified: 0, changed: 0, isDirect: false, thumbnail: 0, kind: .photo)
      row.details.isRead = isRead
      return row
    }
    return FoundAlbum(
      inode: inode, parent: nil, path: [FileName(known: Array(name.utf8))], modified: 0,
      latest: Timestamp(nanoseconds: 0), content: AlbumContent(rows))
  }

  /// A space of 100,000 photos is read for longer than a page waits.
  @Test func theFirstOfAllPhotosWaitForTheAlbumsThatTheyAreIn() {
    let index = SpaceIndex()
    index.replace(
      root: 1,
      by: [
        album(4, "C", photos: 9, isRead: false), album(3, "B", photos: 2, isRead: true),
        album(2, "A", photos: 2, isRead: true),
      ])
    #expect(PhotoView.all.albums(ofFirst: 1, index) == [2])
    #expect(PhotoView.all.albums(ofFirst: 4, index) == [2, 3])
    #expect(PhotoView.all.albums(ofFirst: 1 << 30, index) == [2, 3, 4])
    #expect(index.isDetailed(PhotoView.all.albums(ofFirst: 4, index)))
    #expect(!index.isDetailed(PhotoView.all.albums(ofFirst: 5, index)))
    // Of these any photo may be the first.
    #expect(PhotoView.date.albums(ofFirst: 1, index) == nil && !index.isDetailed(nil))
  }
}
