import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

extension Space {
  /// Begins to write to a store that lies elsewhere: sends first what a session on this machine had written
  /// and not sent, since recovery reads the journal there. If another session has taken the space over, that
  /// is a timeline that was left.
  static func beginStaging(_ files: SegmentFiles) throws(StoreError) {
    guard let relay = files.directory.relay else { return }
    // No segment has this name: numbers begin at 1.
    let name = files.keys.name(of: .reserve, number: SegmentNumber(0), birth: .none)
    do throws(Errno) { try relay.begin(name.text) } catch {
      throw StoreError(
        .inputOutput, "cannot use the directory for what is not sent yet: \(error)", cause: error)
    }
    try Shipment(files, relay).send(omitting: [])
  }
}
