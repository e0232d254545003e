/// The JSON that `albumfs serve` passes to albumfs-gallery as its only argument. It has no secrets.
package struct GalleryLaunch: Codable, Sendable, Equatable {
  /// The program that mounts, unmounts and confirms passwords.
  package var albumfs: String
  /// The program that loads files from the web; nil where it is missing.
  package var fetch: String?
  /// The store whose spaces people log in to; nil: whatever this user has mounted.
  package var store: String?
  /// Options of `albumfs mount` for the mounts that logins make.
  package var mountOptions: [String]
  /// Where it listens: a name or a number.
  package var host: String
  package var port: Int
  /// Seconds without a request after which a session is locked.
  package var idleSeconds: Int64
  /// Files in PEM. nil: the server's own, which it makes once.
  package var certificate: String?
  package var key: String?
  /// True if the terminal shows the address for phones even where they cannot reach it.
  package var showsCode: Bool
  /// True if the server receives files into an album from its start: a `GalleryReception` is then its
  /// standard input.
  package var receives: Bool

  package init(
    albumfs: String, fetch: String?, store: String?, mountOptions: [String], host: String,
    port: Int, idleSeconds: Int64, certificate: String?, key: String?, showsCode: Bool,
    receives: Bool
  ) {
    self.albumfs = albumfs
    self.fetch = fetch
    self.store = store
    self.mountOptions = mountOptions
    self.host = host
    self.port = port
    self.idleSeconds = idleSeconds
    self.certificate = certificate
    self.key = key
    self.showsCode = showsCode
    self.receives = receives
  }
}

/// The password and the album of `albumfs serve --localsend`. albumfs sends them to albumfs-gallery as two
/// lines over a socket, which no other program can read.
package struct GalleryReception: Sendable {
  package var password: String
  /// The path of the album in the space.
  package var album: String

  /// nil for anything but two lines.
  package init?(lines: [UInt8]) {
    let parts = lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].isEmpty else { return nil }
    password = String(decoding: parts[0], as: UTF8.self)
    album = String(decoding: parts[1], as: UTF8.self)
  }
}

/// The JSON that the hidden command `albumfs session` prints for the gallery.
package struct GalleryMount: Codable, Sendable, Equatable {
  package var mountPoint: String
  /// True if the command mounted the space there; false if it was mounted already.
  package var isNew: Bool

  package init(mountPoint: String, isNew: Bool) {
    self.mountPoint = mountPoint
    self.isNew = isNew
  }
}
