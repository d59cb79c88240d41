// gloo_posts.hpp — sends and receives that Gloo's own thread starts, on behalf of others.
//
// For gloo_mesh.cpp alone. A thread that starts one holds the connection's lock. Gloo's thread
// tries that lock when an answer comes and, while it is taken, asks the kernel for the same event
// again, at once and for ever. The answer often comes that early; where sender and thread share a
// core, the thread then keeps the sender from giving the lock back until the scheduler's next tick:
// milliseconds, several times a step. One thread alone has nobody to wait for.
#pragma once

#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/file_descriptor.hpp"

namespace ukemi::kernels {

struct GlooPost {
    gloo::transport::UnboundBuffer* buffer = nullptr;
    int peer = 0;
    std::uint64_t slot = 0;
    bool sends = false;  // else it receives
};
// Throws what Gloo throws: the connection is gone.
void start(const GlooPost& post);

// Outlives the device, whose thread goes on looking for posts until it ends.
class GlooPosts final : private gloo::transport::tcp::Handler {
public:
    // `failed` is told, on Gloo's thread, of posts whose connection is gone. Throws
    // std::system_error if the machine has no descriptors left.
    GlooPosts(gloo::transport::tcp::Device& device, std::function<void(const GlooPost&)> failed);
    ~GlooPosts() override = default;
    GlooPosts(const GlooPosts&) = delete;
    GlooPosts& operator=(const GlooPosts&) = delete;

    // From any thread. Its buffer lives until the transfer is over, or `drop` has returned.
    void add(const GlooPost& post);
    // When it returns, none is being begun and none will be, whatever is added later. Not from
    // Gloo's thread.
    void drop();

    // From now on, or no more: Gloo's thread makes a round every tenth of a millisecond, and not
    // only when something happens, at last after 10 ms. Who takes a connection's socket away, or
    // the device, waits for one.
    void make_rounds(bool on);

private:
    void handleEvents(int events) override;
    void wake();

    std::function<void(const GlooPost&)> failed_;
    FileDescriptor wake_;  // readable while there is something to begin
    std::mutex mutex_;
    std::condition_variable begun_;
    std::vector<GlooPost> waiting_;
    std::vector<GlooPost> beginning_;  // of Gloo's thread
    bool busy_ = false;                // Gloo's thread is at `beginning_`
    std::atomic<bool> dropped_ = false;
    std::atomic<bool> rounds_ = false;
};

}  // namespace ukemi::kernels
