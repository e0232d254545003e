internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3

/// All requests that the driver serves. It leaves others to the kernel on purpose: access
/// (default_permissions), locks, poll, bmap, ioctl.
@safe enum OperationTable {
  static func make() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    // Session
    unsafe table.`init` = albumfs_init
    unsafe table.statfs = albumfs_statfs
    // Names
    unsafe table.lookup = albumfs_lookup
    unsafe table.forget = albumfs_forget
    unsafe table.forget_multi = albumfs_forget_multi
    unsafe table.mknod = albumfs_mknod
    unsafe table.mkdir = albumfs_mkdir
    unsafe table.symlink = albumfs_symlink
    unsafe table.link = albumfs_link
    unsafe table.unlink = albumfs_unlink
    unsafe table.rmdir = albumfs_rmdir
    unsafe table.rename = albumfs_rename
    unsafe table.readlink = albumfs_readlink
    // Attributes
    unsafe table.getattr = albumfs_getattr
    unsafe table.setattr = albumfs_setattr
    unsafe table.setxattr = albumfs_setxattr
    unsafe table.getxattr = albumfs_getxattr
    unsafe table.listxattr = albumfs_listxattr
    unsafe table.removexattr = albumfs_removexattr
    // Files
    unsafe table.create = albumfs_create
    unsafe table.open = albumfs_open
    unsafe table.read = albumfs_read
    unsafe table.write = albumfs_write
    unsafe table.flush = albumfs_flush
    unsafe table.fsync = albumfs_fsync
    unsafe table.release = albumfs_release
    unsafe table.fallocate = albumfs_fallocate
    unsafe table.lseek = albumfs_lseek
    unsafe table.copy_file_range = albumfs_copy_file_range
    // Directories
    unsafe table.opendir = albumfs_opendir
    unsafe table.readdir = albumfs_readdir
    unsafe table.readdirplus = albumfs_readdirplus
    unsafe table.releasedir = albumfs_releasedir
    unsafe table.fsyncdir = albumfs_fsyncdir
    return table
  }
}

// The C functions that libfuse calls. Each converts its arguments to Swift, calls the driver and replies
// exactly once. Their names are the operations of fuse_lowlevel.h.

@c func albumfs_init(
  _ context: UnsafeMutableRawPointer?, _ connection: UnsafeMutablePointer<fuse_conn_info>?
) {
  let driver = unsafe Unmanaged<Driver>.fromOpaque(context!).takeUnretainedValue()
  unsafe driver.thumbnailNames.agreed(minor: connection!.pointee.proto_minor)
  unsafe Capabilities.negotiate(
    &connection!.pointee, accessControl: driver.usesAccessControl,
    follows: driver.fileSystem.follows)
}

@c func albumfs_statfs(_ raw: fuse_req_t?, _ inode: fuse_ino_t) {
  let request = unsafe Request(raw, isUse: false)
  do throws(FSError) {
    let capacity = try request.fileSystem.capacity()
    request.reply(capacity)
  } catch {
    request.reply(error)
  }
}
