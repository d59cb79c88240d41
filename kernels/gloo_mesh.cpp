// gloo_mesh.cpp — its state, and the end of every wait.
#include "kernels/gloo_mesh.hpp"

#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

void ignore_broken_pipes() {
    struct sigaction action {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
        action.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &action, nullptr);
    }
}

}  // namespace

GlooMesh::GlooMesh(GlooSettings settings) : settings_(std::move(settings)) {
    const auto [epoch, rank, size] = settings_.membership;
    INVARIANT(size >= 1 && rank >= 0 && rank < size && settings_.deadline.count() > 0);
    ignore_broken_pipes();
    gloo::transport::tcp::attr attributes("127.0.0.1");
    attributes.ai_family = AF_INET;
    try {
        device_ = gloo::transport::tcp::CreateDevice(attributes);
        posts_.emplace(dynamic_cast<gloo::transport::tcp::Device&>(*device_),
                       [this](const GlooPost& post) { lose(post.peer); });
        context_ = device_->createContext(rank, size);
        context_->setTimeout(std::chrono::hours(1));  // connecting ends by our own deadline
        std::vector<std::vector<char>> addresses(static_cast<std::size_t>(size));
        for (int peer = 0; peer < size; ++peer) {
            if (peer == rank) continue;
            std::vector<char> bytes = context_->createPair(peer)->address().bytes();
            address_bytes_ = bytes.size();
            addresses[static_cast<std::size_t>(peer)] = std::move(bytes);
        }
        for (std::vector<char>& bytes : addresses) {
            bytes.resize(address_bytes_);
            const auto view = std::as_bytes(std::span(bytes));
            address_.insert(address_.end(), view.begin(), view.end());
        }
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw std::system_error(std::make_error_code(std::errc::io_error), error.what());
    }
    deadline_keeper_ = std::thread([this] { keep_deadlines(); });
}

GlooMesh::~GlooMesh() {
    if (outcome() == Outcome::ok) {
        say_goodbye();
    } else {
        withdraw();
    }
    {
        const std::lock_guard lock(mutex_);
        INVARIANT(operations_.empty());
        stopping_ = true;
        deadlines_changed_.notify_all();
        for (const auto& watch : watches_) {
            watch->notice_buffer->abortWaitRecv();
            watch->answer_buffer->abortWaitSend();
        }
    }
    for (const auto& watch : watches_) {
        if (watch->thread.joinable()) watch->thread.join();
    }
    deadline_keeper_.join();
    posts_->make_rounds(true);  // to the end of the device
    for (int peer = 0; peer < settings_.membership.size; ++peer) {
        if (peer != settings_.membership.rank) context_->getPair(peer).reset();
    }
}

Outcome GlooMesh::outcome() const {
    const std::lock_guard lock(mutex_);
    return outcome_;
}

int GlooMesh::suspect() const {
    const std::lock_guard lock(mutex_);
    return suspect_;
}

void GlooMesh::fail(Outcome outcome, int suspect) {
    const std::lock_guard lock(mutex_);
    fail_locked(outcome, suspect);
}

void GlooMesh::fail_locked(Outcome outcome, int suspect) {
    if (outcome_ != Outcome::ok) return;
    outcome_ = outcome;
    suspect_ = suspect;
    for (Operation* operation : operations_) {
        if (!operation->leaves_) operation->interrupt();
    }
}

void GlooMesh::keep_deadlines() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const Clock::time_point now = Clock::now();
        next_deadline_ = Clock::time_point::max();
        for (Operation* operation : operations_) {
            if (operation->deadline_ > now) {
                next_deadline_ = std::min(next_deadline_, operation->deadline_);
            } else if (operation->leaves_) {
                operation->interrupt();
            } else if (operation->waited_ != nullptr || operation->connects_) {
                fail_locked(Outcome::timed_out, operation->peer_);
            }
        }
        if (next_deadline_ == Clock::time_point::max()) {
            deadlines_changed_.wait(lock);
        } else {
            deadlines_changed_.wait_until(lock, next_deadline_);
        }
    }
}

GlooMesh::Operation::Operation(GlooMesh& mesh, std::chrono::milliseconds deadline, bool leaves)
    : mesh_(mesh), deadline_(Clock::now() + deadline), leaves_(leaves) {
    const std::lock_guard lock(mesh_.mutex_);
    place_ = mesh_.operations_.insert(mesh_.operations_.end(), this);
    if (deadline_ < mesh_.next_deadline_) {
        mesh_.next_deadline_ = deadline_;
        mesh_.deadlines_changed_.notify_one();
    }
}

GlooMesh::Operation::~Operation() {
    const std::lock_guard lock(mesh_.mutex_);
    mesh_.operations_.erase(place_);
}

// A wait that has not begun yet remembers the interruption and ends at once.
void GlooMesh::Operation::interrupt() {
    interrupted_ = true;
    if (connects_) mesh_.context_->getPair(peer_)->close();
    if (waited_ == nullptr) return;
    if (waits_for_send_) {
        waited_->abortWaitSend();
    } else {
        waited_->abortWaitRecv();
    }
}

std::unique_ptr<GlooMesh::Buffer> GlooMesh::Operation::buffer(void* data, std::size_t bytes) {
    return mesh_.context_->createUnboundBuffer(data, bytes);
}

bool GlooMesh::Operation::send(Buffer& buffer, int peer, std::uint64_t slot) {
    return post({&buffer, peer, slot, true});
}

bool GlooMesh::Operation::receive(Buffer& buffer, int peer, std::uint64_t slot) {
    return post({&buffer, peer, slot, false});
}

// Who meets or leaves wants to know at once whether the other is still there.
bool GlooMesh::Operation::post(const GlooPost& post) {
    if (leaves_ || !mesh_.connected_) return attempt(post.peer, [&] { start(post); });
    if (mesh_.outcome() != Outcome::ok) return false;
    mesh_.posts_->add(post);
    return true;
}

bool GlooMesh::Operation::wait_sent(Buffer& buffer, int peer) {
    if (!begin_wait(&buffer, peer, true)) return false;
    bool done = false;
    attempt(peer, [&] { done = buffer.waitSend(nullptr, never); });
    return end_wait(done);
}

bool GlooMesh::Operation::wait_received(Buffer& buffer, int peer) {
    if (!begin_wait(&buffer, peer, false)) return false;
    bool done = false;
    attempt(peer, [&] { done = buffer.waitRecv(nullptr, never); });
    return end_wait(done);
}

bool GlooMesh::Operation::begin_wait(Buffer* buffer, int peer, bool sends) {
    const std::lock_guard lock(mesh_.mutex_);
    peer_ = peer;
    if (Clock::now() >= deadline_) {
        interrupted_ = true;
        if (!leaves_) mesh_.fail_locked(Outcome::timed_out, peer);
    }
    if (interrupted_ || (!leaves_ && mesh_.outcome_ != Outcome::ok)) return false;
    waited_ = buffer;
    waits_for_send_ = sends;
    return true;
}

bool GlooMesh::Operation::end_wait(bool done) {
    const std::lock_guard lock(mesh_.mutex_);
    waited_ = nullptr;
    return done;
}

}  // namespace ukemi::kernels
