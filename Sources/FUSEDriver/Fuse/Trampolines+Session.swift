internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3

// The C functions that libfuse calls: each turns its arguments into Swift, calls the driver and
// answers exactly once. Their names are the operations of fuse_lowlevel.h.

@c func albumfs_init(
  _ context: UnsafeMutableRawPointer?, _ connection: UnsafeMutablePointer<fuse_conn_info>?
) {
  unsafe Capabilities.negotiate(&connection!.pointee)
}

@c func albumfs_statfs(_ raw: fuse_req_t?, _ inode: fuse_ino_t) {
  let request = unsafe Request(raw)
  do throws(FSError) {
    let capacity = try request.fileSystem.capacity()
    request.reply(capacity)
  } catch {
    request.reply(error)
  }
}
