import AlbumStore

extension FSError {
  /// What a caller can tell apart of what went wrong in the store.
  init(_ error: StoreError) {
    let code: Code =
      switch error.code {
      case .noSpace: .noSpace
      case .quotaExceeded: .quotaExceeded
      case .readOnly: .readOnly
      default: .inputOutput
      }
    self.init(code, error.message)
  }
}

/// Runs a call of the store; its errors become the file system's.
func storing<Result>(_ body: () throws(StoreError) -> Result) throws(FSError) -> Result {
  do throws(StoreError) { return try body() } catch { throw FSError(error) }
}
