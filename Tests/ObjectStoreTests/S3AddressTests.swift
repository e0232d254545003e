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

  @Test func theUsualPortIsLeftOut() {
    #expect(S3Endpoint("HTTPS://S3.Example.org:443")?.text == "https://s3.example.org")
    #expect(S3Endpoint("http://nas:9000/x/")?.text == "http://nas:9000/x")
    #expect(S3Endpoint("http://[::1]:8333")?.authority == "[::1]:8333")
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
