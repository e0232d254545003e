internal import CFuse3

/// The kernel keeps a number for each open file; it is the address of the object, which is retained
/// from open until release. So no table is needed to find it.
@unsafe struct Handle<Object: AnyObject> {
  private let reference: Unmanaged<Object>

  /// Retains the object for the kernel.
  init(retaining object: Object) { unsafe reference = Unmanaged.passRetained(object) }

  /// What the kernel gives back: a number that an earlier `number` was.
  init(_ info: UnsafePointer<fuse_file_info>?) {
    let number = unsafe UInt(info!.pointee.fh)
    unsafe reference = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: number)!)
  }

  var number: UInt64 { UInt64(UInt(bitPattern: unsafe reference.toOpaque())) }
  var object: Object { unsafe reference.takeUnretainedValue() }

  /// The kernel will not name it again.
  func take() -> Object { unsafe reference.takeRetainedValue() }
}
