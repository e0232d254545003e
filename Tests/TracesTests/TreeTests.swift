import AlbumTestSupport
import Foundation
import Testing
import Traces

/// The paths that belong to a mount point.
@Suite struct TreeTests {
  @Test(arguments: [
    ("/a/Album", ""), ("/a/Album/", ""), ("/a/Album/x", "x"), ("/a//Album/./x/", "x"),
    ("/a/b/../Album/x/y", "x/y"), ("/../a/Album", ""),
  ])
  func pathsInside(path: String, inside: String) throws {
    let tree = try #require(TracedTree(["/a/Album/"]))
    #expect(tree.inside(Array(path.utf8)) == Array(inside.utf8))
  }

  @Test(arguments: [
    "/a", "/", "", "a/Album", "/a/Album2", "/a/Album/../x", "/a/album", "/b/a/Album",
  ])
  func pathsOutside(path: String) throws {
    let tree = try #require(TracedTree(["/a/Album"]))
    #expect(tree.inside(Array(path.utf8)) == nil)
  }

  @Test func theRootDirectoryIsNoMountPoint() {
    for path in ["/", "//", "/a/..", "relative", ""] { #expect(TracedTree([path]) == nil) }
    #expect(TracedTree([]) == nil)
  }

  @Test func placesFollowTheEnvironment() {
    let variables = [
      "HOME": "/h", "XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "relative", "TMPDIR": "/t",
    ]
    let places = TracePlaces(user: 1) { variables[$0] }
    #expect(
      places
        == TracePlaces(
          user: 1, home: "/h", cache: "/c", data: "/h/.local/share", config: "/h/.config",
          temporary: ["/t", "/tmp", "/var/tmp"]))
    #expect(TracePlaces(user: 1) { _ in nil } == nil)
  }
}
