// gloo_mesh.hpp — connections between all ranks, and waits on them that always end.
//
// For gloo_communicator.cpp alone: it shows Gloo's types. What ends a wait: its bytes have come or
// gone; the deadline of its operation; the loss of any peer; a peer that takes leave because it
// failed; abort(). All but the first put the whole mesh into one failed state, the first cause of
// which is kept, and end all other waits. Gloo's own timeouts are not used: they would close all
// connections at once, and the others would blame this rank.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/gloo_communicator.hpp"
#include "kernels/gloo_posts.hpp"

namespace ukemi::kernels {

class GlooMesh {
public:
    using Clock = std::chrono::steady_clock;
    using Buffer = gloo::transport::UnboundBuffer;
    using Greeting = std::array<unsigned char, 32>;  // an HMAC-SHA-256
    // As good as never, and far from overflowing Gloo's arithmetic.
    static constexpr std::chrono::milliseconds never = std::chrono::hours(24 * 365);

    explicit GlooMesh(GlooSettings settings);
    ~GlooMesh();
    GlooMesh(const GlooMesh&) = delete;
    GlooMesh& operator=(const GlooMesh&) = delete;

    Membership membership() const { return settings_.membership; }
    std::span<const std::byte> address() const { return address_; }
    Outcome outcome() const;  // ok until something failed
    int suspect() const;

    Outcome connect(std::span<const std::vector<std::byte>> addresses);
    void fail(Outcome outcome, int suspect);
    // After a failure: tells the others and closes all connections. When it returns, no buffer is
    // touched any more.
    void withdraw();

    // One operation of one thread. The functions return false once the mesh has failed.
    class Operation {
    public:
        explicit Operation(GlooMesh& mesh) : Operation(mesh, mesh.settings_.deadline, false) {}
        ~Operation();
        Operation(const Operation&) = delete;
        Operation& operator=(const Operation&) = delete;

        std::unique_ptr<Buffer> buffer(void* data, std::size_t bytes);
        bool send(Buffer& buffer, int peer, std::uint64_t slot);
        bool receive(Buffer& buffer, int peer, std::uint64_t slot);
        bool wait_sent(Buffer& buffer, int peer);
        bool wait_received(Buffer& buffer, int peer);

    private:
        friend class GlooMesh;
        // One that leaves goes on although the mesh has failed, and does not fail it.
        Operation(GlooMesh& mesh, std::chrono::milliseconds deadline, bool leaves);
        bool post(const GlooPost& post);
        bool begin_wait(Buffer* buffer, int peer, bool sends);
        bool end_wait(bool done);
        template <class Action>
        bool attempt(int peer, Action action);
        void interrupt();  // under the lock of the mesh

        GlooMesh& mesh_;
        Clock::time_point deadline_;
        bool leaves_ = false;
        bool interrupted_ = false;
        Buffer* waited_ = nullptr;  // what the thread waits for
        bool waits_for_send_ = false;
        bool connects_ = false;  // it waits for a connection
        int peer_ = -1;
        std::list<Operation*>::iterator place_;
    };

private:
    // A rank that leaves says why.
    struct Notice {
        std::int32_t outcome = -1;  // none yet
        std::int32_t suspect = -1;
    };
    // A receive that stands as long as the connection does: Gloo fails it when the connection
    // breaks, even in the middle of a message that belongs to somebody else.
    struct Watch {
        int peer = 0;
        Notice notice;
        std::byte answer{1};
        std::unique_ptr<Buffer> notice_buffer;
        std::unique_ptr<Buffer> answer_buffer;
        std::thread thread;
    };
    struct Meeting {
        int peer = 0;
        Greeting said{};
        Greeting heard{};
        std::unique_ptr<Buffer> send;
        std::unique_ptr<Buffer> receive;
    };
    struct Goodbye {
        int peer = 0;
        Notice notice;
        std::byte answer{};
        std::unique_ptr<Buffer> send;
        std::unique_ptr<Buffer> receive;
        bool under_way = false;
    };

    bool connect_to(Operation& operation, int peer, std::span<const std::byte> address);
    bool greet(Operation& operation);
    void watch(Watch& peer);
    void keep_deadlines();
    void fail_locked(Outcome outcome, int suspect);
    void lose(int peer);
    void say_goodbye();

    GlooSettings settings_;
    std::optional<GlooPosts> posts_;  // of operations; before the device
    std::shared_ptr<gloo::transport::Device> device_;
    std::shared_ptr<gloo::transport::Context> context_;
    std::vector<std::byte> address_;
    std::size_t address_bytes_ = 0;  // of one pair

    mutable std::mutex mutex_;  // before those of Gloo's buffers and pairs
    std::condition_variable deadlines_changed_;
    std::list<Operation*> operations_;
    Clock::time_point next_deadline_ = Clock::time_point::max();
    Outcome outcome_ = Outcome::ok;
    int suspect_ = -1;
    bool stopping_ = false;
    bool connected_ = false;
    std::mutex withdrawal_;  // before mutex_
    bool withdrawn_ = false;
    // All have buffers; they go after the connections.
    std::vector<std::unique_ptr<Meeting>> meetings_;
    std::vector<std::unique_ptr<Watch>> watches_;
    std::vector<std::unique_ptr<Goodbye>> goodbyes_;
    std::thread deadline_keeper_;
};

template <class Action>
bool GlooMesh::Operation::attempt(int peer, Action action) {
    try {
        action();
        return true;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {  // Gloo's IoException, or its assertions of a closed pair
        if (!leaves_) mesh_.lose(peer);
        return false;
    }
}

}  // namespace ukemi::kernels
