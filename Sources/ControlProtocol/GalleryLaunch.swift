/// The JSON that `albumfs serve` passes to albumfs-gallery as its only argument. It has no secrets.
package struct GalleryLaunch: Codable, Sendable, Equatable {
  /// The program that mounts, unmounts and confirms passwords.
  package var albumfs: String
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

  package init(
    albumfs: String, store: String?, mountOptions: [String], host: String, port: Int,
    idleSeconds: Int64, certificate: String?, key: String?, showsCode: Bool
  ) {
    self.albumfs = albumfs
    self.store = store
    self.mountOptions = mountOptions
    self.host = host
    self.port = port
    self.idleSeconds = idleSeconds
    self.certificate = certificate
    self.key = key
    self.showsCode = showsCode
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
