import AlbumTestSupport
import ObjectStores
import Testing

/// Addresses of buckets and servers: what is none is refused, before anything is sent.
@Suite struct S3AddressTests {
  @Test func aBucketMayHaveAPrefix() throws {
    #expect(S3Place("s3://photos")?.prefix == "")
    #expect(S3Place("s3://photos/")?.description == "s3://photos")
    let place = try #require(S3Place("s3://photos/our album/2026/"))
    #expect(place.bucket == "photos" && place.prefix == "our album/2026")
  }

  @Test(arguments: [
    "photos", "s3:/photos", "s3://", "s3:///a", "s3://photos//a", "s3://photos/../a", "s3://a b/c",
    "s3://photos/a\nb", "http://photos/a", "s3://me:secret@photos/a",
  ])
  func whatIsNoBucketIsRefused(text: String) { #expect(S3Place(text) == nil) }

  /// A store has its prefix for itself.
  @Test func storesAroundAPlaceAndInItAreFound() throws {
    let place = try #require(S3Place("s3://b/p/q/r"))
    let bucket = MemoryObjectStore()
    #expect(place.outer.map(\.description) == ["s3://b/p/q", "s3://b/p", "s3://b"])
    #expect(try place.storeAround(in: bucket) == nil)
    try bucket.save("p/q/r/albumfs.conf", [1], .any)
    try bucket.save("p/other/albumfs.conf", [1], .any)
    #expect(try place.storeAround(in: bucket) == nil)
    for name in ["albumfs.conf", "albumfs.conf.bak", "albumfs.copying"] {
      try bucket.save("p/\(name)", [1], .any)
      #expect(try place.storeAround(in: bucket) == S3Place("s3://b/p"))
      try bucket.remove("p/\(name)")
    }
    try bucket.save("albumfs.conf", [1], .any)
    #expect(try place.storeAround(in: bucket) == place.wholeBucket)
    #expect(try place.wholeBucket.storeAround(in: bucket) == nil)
    // Credentials for the prefix alone do not see more.
    let closed = MemoryObjectStore { _, _, _ in .error(.refused(.permission)) }
    #expect(try place.storeAround(in: closed) == nil)
    #expect(place.inner(withConfiguration: "x/y/albumfs.conf") == S3Place("s3://b/p/q/r/x/y"))
    #expect(place.inner(withConfiguration: "albumfs.conf") == nil)
    #expect(place.inner(withConfiguration: "x/photo.jpg") == nil)
  }

  @Test func theUsualPortIsLeftOut() {
    #expect(S3Endpoint("HTTPS://S3.Example.org:443")?.text == "https://s3.example.org")
    #expect(S3Endpoint("http://nas:9000/x/")?.text == "http://nas:9000/x")
    #expect(S3Endpoint("http://[::1]:8333")?.authority == "[::1]:8333")
  }

  /// A bucket stands in the name of a host only if that has one.
  @Test func onlyNamesTakeABucket() {
    for (text, hasName) in [
      ("https://s3.example.org", true), ("http://localhost:9000", true),
      ("https://10.0.0.1", false),
      ("http://127.0.0.1:1", false), ("http://[::1]:1", false),
      ("https://1.2.3.4.example.org", true),
    ] {
      #expect(S3Endpoint(text)?.hasName == hasName, "\(text)")
    }
  }

  @Test(arguments: [
    "s3.example.org", "ftp://a", "https://", "https://user:secret@host", "https://a b",
    "https://h/?q",
    "https://h\n",
  ])
  func whatIsNoServerIsRefused(text: String) { #expect(S3Endpoint(text) == nil) }

  /// Only https, and this machine, are private.
  @Test(arguments: [
    ("https://s3.example.org", true), ("http://127.0.0.1:8333", true), ("http://localhost", true),
    ("http://127.1.2.3:1", true), ("http://[::1]:1", true), ("http://nas", false),
    ("http://127.0.0.1.example.org", false), ("http://192.168.1.4:9000", false),
    ("http://localhost.example.org", false), ("http://127.0.0.x", false),
  ])
  func onlySomeServersArePrivate(text: String, isPrivate: Bool) {
    #expect(S3Endpoint(text)?.isPrivate == isPrivate)
  }

  @Test func credentialsFitAHeaderAndAreNotPrinted() throws {
    #expect(S3Credentials(accessKey: "a", secretKey: "b\r\nx: y", sessionToken: nil) == nil)
    #expect(S3Credentials(accessKey: "", secretKey: "b", sessionToken: nil) == nil)
    let good = try #require(S3Credentials(accessKey: "AK", secretKey: "hidden", sessionToken: "t"))
    #expect(!"\(good)".contains("hidden") && !"\([good])".contains("hidden"))
  }
}
