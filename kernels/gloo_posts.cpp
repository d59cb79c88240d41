#include "kernels/gloo_posts.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace ukemi::kernels {

void start(const GlooPost& post) {
    if (post.sends) {
        post.buffer->send(post.peer, post.slot);
    } else {
        post.buffer->recv(post.peer, post.slot);
    }
}

GlooPosts::GlooPosts(gloo::transport::tcp::Device& device,
                     std::function<void(const GlooPost&)> failed)
    : failed_(std::move(failed)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    device.registerDescriptor(wake_.get(), EPOLLIN, this);
}

void GlooPosts::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void GlooPosts::add(const GlooPost& post) {
    const std::lock_guard lock(mutex_);
    if (dropped_) return;
    waiting_.push_back(post);
    if (waiting_.size() == 1) wake();
}

void GlooPosts::drop() {
    std::unique_lock lock(mutex_);
    dropped_ = true;
    waiting_.clear();
    begun_.wait(lock, [&] { return !busy_; });
}

void GlooPosts::make_rounds(bool on) {
    rounds_ = on;
    wake();
}

void GlooPosts::handleEvents(int) {
    if (rounds_) {  // what wakes it stays, and wakes it again
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t taken = ::read(wake_.get(), &count, sizeof count);
    }
    std::unique_lock lock(mutex_);
    std::swap(waiting_, beginning_);
    busy_ = true;
    lock.unlock();
    for (const GlooPost& post : beginning_) {
        if (dropped_) break;
        try {
            start(post);
        } catch (const std::bad_alloc&) {
            throw;                         // ends this process: no peer is to blame
        } catch (const std::exception&) {  // Gloo's IoException, or its assertions of a closed pair
            failed_(post);
        }
    }
    beginning_.clear();
    lock.lock();
    busy_ = false;
    begun_.notify_all();
}

}  // namespace ukemi::kernels
