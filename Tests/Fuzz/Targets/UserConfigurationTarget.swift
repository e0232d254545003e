import ControlProtocol

@testable import albumfs

/// The user's file of settings, as an editor or another program may leave it.
enum UserConfigurationTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "# x\nstore = ~/Album.store\nmountpoint = ~/Album\nidle = 15m\ngrace=60\nread-only = yes\n",
      "\u{FEFF}store = /a\r\noptions = ro,noexec\r\ntransport = device\r\nstore = /b\r\nfido2 = yes\r\n",
      "store=/s\npassword-command = pass show 'a'\nowner = map\nwith-password = yes\nremember = no",
      "store=/s\npassword-file = ~/p\nthumbnailer = /t\nallow-other = no\n",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let found: UserConfiguration
    do throws(Failure) { found = try UserConfiguration.parse(text, from: "/config") } catch {
      require(error.message.hasPrefix("/config, line "), "an error names the file and the line")
      return
    }
    let (stores, points) = (
      found.entries.map(\.store), found.entries.compactMap(\.mountPoint)
    )
    require(Set(stores).count == stores.count, "a store has its settings once")
    require(Set(points).count == points.count, "a mount point has one store")
    require((stores + points).allSatisfy { $0.hasPrefix("/") }, "places are absolute")
    for entry in found.entries {
      require(found.entry(of: entry.store) == entry, "a store is found by its path")
    }
  }
}
