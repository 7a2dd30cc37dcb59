// Streams. The library has one stream of its own, shared by all threads, so that a tensor made by one thread may be
// used by another without a word. It does not wait for the legacy default stream, nor that one for it.
#pragma once

namespace tally::gpu {

/// A further stream. Work on it is ordered with other streams' only where `wait_for` says so. Memory belongs to the
/// stream that was current when it was allocated: let that stream wait before dropping what another one still uses.
class Stream {
 public:
  Stream();
  ~Stream();  // waits for the stream's work
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Waits for its work.
  void synchronize() const;
  /// Work given to this stream from now on starts after all that `other` has been given so far.
  void wait_for(const Stream& other) const;
  /// The same for the stream that is current.
  void wait_for_current() const;
  void* handle() const { return handle_; }

 private:
  void* handle_;
};

/// While it lives, this thread's work goes to `stream`.
class StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  void* previous_;
};

/// Work of the current stream given from now on starts after all that `stream` has been given so far.
void current_waits_for(const Stream& stream);
/// A cudaStream_t.
void* current_stream_handle();

}  // namespace tally::gpu
