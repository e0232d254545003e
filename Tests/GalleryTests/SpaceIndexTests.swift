import AlbumModel
import AlbumTestSupport
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
    #expect(index.everyAlbum(first: []).map(\.found.inode) == [2, 3, 4])
    #expect(index.everyAlbum(first: [4, 5]).map(\.found.inode) == [4, 2, 3])
    // Of these any photo may be the first.
    #expect(index.undetailedCount == 9)
    #expect(PhotoView.date.albums(ofFirst: 1, index) == nil && !index.isDetailed(nil))
  }

  /// A listing waits for what a window shows, and not for an album of thousands. What has begun to read the
  /// rest stops for it.
  @Test func theFirstPhotosOfAnAlbumAreReadBeforeTheOthers() throws {
    let scratch = try ScratchDirectory()
    try PathCalls.makePrivateDirectory(scratch.path("A"))
    try PathCalls.makePrivateDirectory(scratch.path("A/Photo"))
    let found = album(2, "A", photos: 9, isRead: false)
    let index = SpaceIndex()
    index.replace(root: 1, by: [found, album(3, "B", photos: 9, isRead: false)])
    func read(_ count: Int = .max, stopAfter limit: Int = .max) throws -> PhotoDetailsReader.Reading
    {
      let now = try #require(index.album(2))
      var asked = 0
      let read = PhotoDetailsReader(try Folder(scratch.path("")), now).read(first: count) {
        asked += 1
        return asked > limit
      }
      index.take([.init(album: 2, before: now.found.content, after: read.content)])
      return read
    }
    let part = try read(4)
    #expect(!part.isWhole && part.count == 4)
    #expect(index.isDetailed([2, 3], first: 4) && !index.isDetailed([2, 3], first: 5))
    let more = try read(stopAfter: 2)
    #expect(!more.isWhole && more.count == 2)
    let rest = try read()
    #expect(rest.isWhole && rest.count == 3)
    #expect(index.isDetailed([2, 3], first: 9) && !index.isDetailed([2, 3], first: 10))
    #expect(try read().count == 0)
    #expect(PhotoView.all.photos(ofFirst: 7) == 7 && PhotoView.date.photos(ofFirst: 7) == .max)
  }
}
