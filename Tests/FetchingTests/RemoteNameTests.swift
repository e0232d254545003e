import AlbumModel
import Fetching
import FileKinds
import Testing
import ThumbnailProtocol

/// A picture from the web is named as its server says, or as its address, with the ending of its content.
@Suite struct RemoteNameTests {
  private func name(
    _ disposition: String = "", _ place: String = "https://example.org/a/garden.jpg",
    _ kind: ImageKind = .jpeg, start: [UInt8] = []
  ) -> String {
    var head = FetchHead()
    head.disposition = Array(disposition.utf8)
    head.place = Array(place.utf8)
    return RemoteName.of(head, kind, start: start).display
  }

  @Test func theServersNameComesFirst() {
    #expect(name() == "garden.jpg")
    #expect(name("attachment") == "garden.jpg")
    #expect(name("attachment; filename=other.jpg") == "other.jpg")
    #expect(
      name("inline; filename=\"two words; and \\\"more\\\".jpg\"") == "two words; and \"more\".jpg")
    #expect(name("attachment; filename=a.jpg; filename*=UTF-8''%C3%A4%20b.jpg") == "ä b.jpg")
    #expect(name("attachment; filename*=ISO-8859-1''%E4.jpg") == "ä.jpg")
    #expect(name("attachment; filename*=UTF-8''%FF; filename=a.jpg") == "a.jpg")
    #expect(name("", "https://example.org/%C3%A4%20b.jpg?size=large") == "ä b.jpg")
    #expect(name("", "https://example.org/") == "picture.jpg")
    #expect(name("", "https://example.org") == "picture.jpg")
  }

  @Test func aServerChoosesNoHiddenNameAndNoPath() {
    for hostile in [
      "filename=\"../../etc/passwd.jpg\"", "filename=\"/etc/passwd.jpg\"",
      "filename=\"..\\passwd.jpg\"",
      "filename*=UTF-8''..%2F..%2Fpasswd.jpg", "filename=\"...passwd.jpg\"",
    ] {
      #expect(name("attachment; \(hostile)") == "passwd.jpg", "\(hostile)")
    }
    #expect(name("attachment; filename=\"..\"") == "garden.jpg")
    #expect(name("attachment; filename=\"a\u{202e}b\u{7}c.jpg\"") == "abc.jpg")
    #expect(name("", "https://example.org/%2e%2e") == "picture.jpg")
    #expect(name("", "https://example.org/a%00b.jpg") == "ab.jpg")
    let long = name("attachment; filename=\"\(String(repeating: "ä", count: 400)).jpg\"")
    #expect(long.utf8.count <= 255 && long.hasSuffix("ä.jpg"))
  }

  @Test func theContentDecidesTheEnding() {
    #expect(name("", "https://a/photo.php", .jpeg) == "photo.jpg")
    #expect(name("", "https://a/photo.png", .jpeg) == "photo.jpg")
    #expect(name("", "https://a/photo.JPEG", .jpeg) == "photo.JPEG")
    #expect(name("", "https://a/photo", .heif) == "photo.heic")
    #expect(name("", "https://a/v1.2-final_version", .png) == "v1.2-final_version.png")
    #expect(name("", "https://a/raw.NEF", .tiff) == "raw.NEF")
    #expect(
      name("", "https://a/film", .mp4, start: [0, 0, 0, 20] + Array("ftypqt  ".utf8)) == "film.mov")
    #expect(name("", "https://a/film.mp4", .mp4) == "film.mp4")
  }
}
