import Fetching
import Testing

/// A person types addresses with blanks and letters of all kinds, one or a list of them.
@Suite struct RemoteURLTests {
  @Test(arguments: [
    ("https://example.org/a.jpg", "https://example.org/a.jpg"),
    ("  HTTP://example.org/a b.jpg\t", "HTTP://example.org/a%20b.jpg"),
    ("https://example.org/ä.jpg?x=ö#part", "https://example.org/%C3%A4.jpg?x=%C3%B6"),
    ("http://[::1]:80/a", "http://[::1]:80/a"),
    ("https://example.org", "https://example.org"),
  ])
  func anAddressIsWhatAServerUnderstands(typed: String, address: String) {
    #expect(RemoteURL(typed)?.text == address)
  }

  @Test(arguments: [
    "", "example.org/a.jpg", "ftp://example.org/a", "file:///etc/passwd", "https://", "https:///a",
    "http://a b/", "http://example.org/\nurl https://b", "javascript:alert(1)", "https://?a",
    "http://example.org/\u{7f}",
  ])
  func anythingElseIsNone(typed: String) { #expect(RemoteURL(typed) == nil) }

  @Test func aLongOneIsNone() {
    #expect(RemoteURL("http://a/" + String(repeating: "x", count: 8183)) != nil)
    #expect(RemoteURL("http://a/" + String(repeating: "x", count: 8184)) == nil)
    #expect(RemoteURL("http://a/" + String(repeating: "ä", count: 4000)) == nil)
  }

  @Test func aListHasEachAddressOnce() {
    let list = "# holiday\n\nhttp://a/1\r\n  http://a/2  \nno address\nhttp://a/1#x\n"
    let (urls, bad) = RemoteURLList.read(list)
    #expect(urls.map(\.text) == ["http://a/1", "http://a/2"] && bad == ["no address"])
  }
}
