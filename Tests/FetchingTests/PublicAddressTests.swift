import Fetching
import Posix
import Testing

/// A person who is logged in to the gallery cannot make the server look into its own house.
@Suite struct PublicAddressTests {
  private let own = PublicAddress(own: [
    .init(AddressText.bytes("81.2.69.142")!, bits: 28),
    .init(AddressText.bytes("2a00:1450:4001:800::1")!, bits: 64),
  ])

  @Test(arguments: [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255", "192.168.1.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1",
    "2001:db8::1",
    "2001::1", "2002:7f00:1::", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1", "64:ff9b:1::1", "3fff::1",
    // In the networks of this machine.
    "81.2.69.130", "2a00:1450:4001:800::1234", "64:ff9b::5102:4582",
  ])
  func whatIsNotPublicIsRefused(address: String) throws {
    #expect(!own.allows(try #require(AddressText.bytes(address))))
  }

  @Test(arguments: [
    "8.8.8.8", "100.128.0.1", "172.32.0.1", "172.15.255.255", "81.2.69.160", "223.255.255.255",
    "2a00:1450:4001:801::1", "2606:4700::1111", "64:ff9b::808:808",
  ])
  func whatIsPublicIsNot(address: String) throws {
    #expect(own.allows(try #require(AddressText.bytes(address))))
  }

  @Test func whatIsNoAddressIsRefused() {
    #expect(
      !own.allows([]) && !own.allows([8, 8, 8]) && !own.allows([UInt8](repeating: 32, count: 17)))
  }
}
