import AlbumModel
import ControlProtocol
import Posix

/// The reception that `albumfs serve --localsend` opens from the terminal, without a browser.
struct TerminalReception: Sendable {
  let sessions: SessionTable
  let desk: ReceptionDesk

  /// Logs in, makes the album if it is missing, and opens it. Throws a `Problem` for a person.
  func open(_ order: GalleryReception) async throws -> Reception {
    let session: Session
    do { session = try await sessions.terminalSession(order.password) } catch {
      throw GalleryApplication.Problem(
        description: "The password opens no space here.", exitCode: 12)
    }
    do {
      let album = try TerminalReception.album(order.album, of: session.space)
      return try await desk.open(session, album: album)
    } catch {
      throw GalleryApplication.Problem(description: TerminalReception.reason(error))
    }
  }

  private static func album(_ path: String, of space: OpenSpace) throws -> UInt64 {
    try space.requireWritable()
    let names = try path.split(separator: "/").map { try GalleryName.valid(String($0)) }
    if names.isEmpty { throw GalleryError(.name) }
    var inode = space.index.root
    for depth in names.indices {
      let folder = try space.mount.folder(Array(names[..<depth]))
      do throws(Errno) { try folder.makeDirectory(names[depth]) } catch {
        if error != .exists { throw error }
      }
      let entry = try folder.entry(names[depth])
      if entry.kind != .directory { throw GalleryError(.exists) }
      if space.index.album(entry.file.inode) == nil { space.refresh(inode) }
      inode = entry.file.inode
    }
    return inode
  }

  private static func reason(_ error: any Error) -> String {
    switch GalleryError(any: error).code {
    case .readonly: "The space is read-only."
    case .name, .exists: "--localsend takes an album of the space, or a new name for one."
    case .room: "The disk is full."
    default: "The album cannot be opened."
    }
  }

  /// What the terminal shows. It names no album.
  static func invitation(_ reception: Reception, at address: GalleryAddress) -> [String] {
    var lines = [
      "Phones can send files with LocalSend to \"\(LocalSendDevice.alias)\". The PIN is \(reception.pin)."
    ]
    lines.append(
      address.isLoopback
        ? "Only this machine can reach \(address.host): phones need --listen ADDRESS."
        : "If a phone does not find it, give it the address \(address.text).")
    return lines
  }

  static func farewell(_ end: Reception.End) -> String {
    switch end {
    case .closed: "Nothing is received any more: the space was locked.\n"
    case .guessed: "Nothing is received any more: too many wrong PINs were tried. Start anew.\n"
    }
  }
}
