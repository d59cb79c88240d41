#include "tests/kernels/cuda_on_host/threads.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

// Saves what a call must keep, changes stacks, and goes on where the other one has stopped.
extern "C" void ukemi_change_stacks(void** from, void* to);
asm(R"(
.text
.globl ukemi_change_stacks
.type ukemi_change_stacks, @function
ukemi_change_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size ukemi_change_stacks, .-ukemi_change_stacks
)");

namespace ukemi::on_host {

Place here;

namespace {

constexpr unsigned lanes = 32;
constexpr unsigned threads_max = 1024;
constexpr std::size_t stack_bytes = 64 << 10;

[[noreturn]] void refuse(const char* what) {
    std::fprintf(stderr, "kernel on the host: %s\n", what);
    std::abort();
}

enum class Waits : std::uint8_t { no, for_block, for_warp, for_lanes, for_anybody };

struct Fiber {
    std::unique_ptr<std::byte[]> memory;
    void* stack = nullptr;  // where it goes on
    unsigned thread = 0;
    Waits waits = Waits::no;
    unsigned mask = 0;  // of for_lanes
};

// The threads of one block at a time. A fiber takes one thread after the other until one of them
// waits; then another fiber takes those that are left.
class Block {
public:
    static Block& current_block() {
        static Block block;
        return block;
    }
    void run(const std::function<void()>& thread, unsigned count, unsigned turn) {
        code_ = &thread;
        count_ = count;
        turn_ = turn;
        begun_ = ended_ = 0;
        alive_.assign((count + lanes - 1) / lanes, 0);
        at_warp_.assign(alive_.size(), 0);
        at_lanes_.assign(alive_.size(), 0);
        here_together_.assign(alive_.size(), 0);
        at_block_ = 0;
        words_.resize(alive_.size() * lanes);
        for (unsigned i = 0; i < count; ++i) alive_[i / lanes] |= 1U << i % lanes;
        while (ended_ < count_) {
            if (!ready_.empty()) {
                Fiber* next = ready_.back();
                ready_.pop_back();
                resume(*next);
            } else if (begun_ < count_) {
                resume(idle_fiber());
            } else {
                release();
            }
        }
    }
    void wait(Waits what, unsigned mask = 0) {
        Fiber& fiber = *running_;
        fiber.waits = what;
        fiber.mask = mask;
        if (what == Waits::for_lanes) at_lanes_[fiber.thread / lanes] |= bit(fiber);
        if (what == Waits::for_warp) ++at_warp_[fiber.thread / lanes];
        if (what == Waits::for_block) ++at_block_;
        waiting_.push_back(&fiber);
        ukemi_change_stacks(&fiber.stack, scheduler_);
    }
    unsigned lanes_here() {
        const Fiber& fiber = *running_;
        if (turn_ % 2 == 1) return bit(fiber);
        wait(Waits::for_anybody);
        return here_together_[fiber.thread / lanes];
    }
    unsigned thread() const { return running_->thread; }
    unsigned alive(unsigned warp) const { return alive_[warp]; }
    std::uint64_t* words(unsigned warp) { return &words_[std::size_t{warp} * lanes]; }

private:
    static unsigned bit(const Fiber& fiber) { return 1U << fiber.thread % lanes; }
    bool opens(const Fiber& fiber) const {
        const unsigned warp = fiber.thread / lanes;
        switch (fiber.waits) {
            case Waits::for_block: return at_block_ == count_ - ended_;
            case Waits::for_warp:
                return at_warp_[warp] == static_cast<unsigned>(__builtin_popcount(alive_[warp]));
            case Waits::for_lanes: return (at_lanes_[warp] & fiber.mask) == fiber.mask;
            case Waits::for_anybody:
            case Waits::no: break;
        }
        return true;
    }
    static void enter() { current_block().take_threads(); }
    void take_threads() {
        for (;;) {
            Fiber& fiber = *running_;
            while (begun_ < count_) {
                fiber.thread = in_turn(begun_++);
                set_here(fiber);
                (*code_)();
                ++ended_;
                alive_[fiber.thread / lanes] &= ~(1U << fiber.thread % lanes);
            }
            idle_.push_back(&fiber);
            ukemi_change_stacks(&fiber.stack, scheduler_);
        }
    }
    // Any order will do: up, down, or odd steps through a power of two.
    unsigned in_turn(unsigned i) const {
        if (turn_ % 3 == 0) return i;
        if (turn_ % 3 == 1 || (count_ & (count_ - 1)) != 0) return count_ - 1 - i;
        return (i * (2 * turn_ + 1) + turn_) & (count_ - 1);
    }
    void set_here(const Fiber& fiber) const {
        const unsigned width = here.threads.x;
        const unsigned height = here.threads.y;
        here.thread = {fiber.thread % width, fiber.thread / width % height,
                       fiber.thread / width / height};
    }
    void resume(Fiber& fiber) {
        running_ = &fiber;
        fiber.waits = Waits::no;
        set_here(fiber);
        ukemi_change_stacks(&scheduler_, fiber.stack);
    }
    Fiber& idle_fiber() {
        if (idle_.empty()) {
            fibers_.push_back(std::make_unique<Fiber>());
            Fiber& made = *fibers_.back();
            made.memory = std::make_unique<std::byte[]>(stack_bytes);
            const auto end = reinterpret_cast<std::uintptr_t>(made.memory.get() + stack_bytes);
            auto* top = reinterpret_cast<void**>(end & ~std::uintptr_t{15});
            // As after a call: the address to return to, and six registers below it.
            *--top = nullptr;
            *--top = reinterpret_cast<void*>(&enter);
            for (int i = 0; i < 6; ++i) *--top = nullptr;
            made.stack = top;
            return made;
        }
        Fiber* last = idle_.back();
        idle_.pop_back();
        return *last;
    }
    // Everybody has begun and nobody can go on: the barriers that all have reached open.
    void release() {
        std::vector<Fiber*> still;
        for (Fiber* fiber : waiting_) (opens(*fiber) ? ready_ : still).push_back(fiber);
        if (ready_.empty()) refuse("threads of a block wait at different barriers");
        for (Fiber* fiber : ready_) {
            const unsigned warp = fiber->thread / lanes;
            if (fiber->waits == Waits::for_warp) at_warp_[warp] = 0;
            if (fiber->waits == Waits::for_block) at_block_ = 0;
            if (fiber->waits == Waits::for_lanes) at_lanes_[warp] &= ~bit(*fiber);
            if (fiber->waits == Waits::for_anybody) here_together_[warp] = 0;
        }
        for (Fiber* fiber : ready_) {
            const bool together = fiber->waits == Waits::for_anybody;
            if (together) here_together_[fiber->thread / lanes] |= bit(*fiber);
        }
        waiting_ = std::move(still);
        if (turn_ % 2 == 1) std::reverse(ready_.begin(), ready_.end());
    }

    const std::function<void()>* code_ = nullptr;
    unsigned count_ = 0;
    unsigned turn_ = 0;
    unsigned begun_ = 0;
    unsigned ended_ = 0;
    unsigned at_block_ = 0;
    std::vector<unsigned> alive_;     // by warp, a bit for each thread
    std::vector<unsigned> at_warp_;   // by warp, how many wait there
    std::vector<unsigned> at_lanes_;  // by warp, which wait for lanes
    std::vector<unsigned> here_together_;
    std::vector<std::uint64_t> words_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;
    std::vector<Fiber*> ready_;
    std::vector<Fiber*> waiting_;
    Fiber* running_ = nullptr;
    void* scheduler_ = nullptr;
};

}  // namespace

void run_grid(dim3 grid, dim3 threads, const std::function<void()>& thread) {
    const unsigned count = threads.x * threads.y * threads.z;
    if (count == 0 || count > threads_max) refuse("a block has 1 to 1024 threads");
    here.grid = grid;
    here.threads = threads;
    static std::uint64_t drawn = 1;  // goes on over launches: those of one block differ too
    const auto draw = [&] {
        drawn = drawn * 6364136223846793005U + 1442695040888963407U;
        return drawn >> 33U;
    };
    // Any order will do: up, down, or from anywhere in steps that meet every block.
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    const std::uint64_t order = draw() % 3;
    const std::uint64_t begin = order == 2 ? draw() % blocks : 0;
    std::uint64_t step = order == 2 ? draw() % blocks + 1 : 1;
    while (std::gcd(step, blocks) != 1) ++step;
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::uint64_t at = order == 1 ? blocks - 1 - i : (begin + i * step) % blocks;
        ++here.block_number;
        here.block = {static_cast<unsigned>(at % grid.x),
                      static_cast<unsigned>(at / grid.x % grid.y),
                      static_cast<unsigned>(at / grid.x / grid.y)};
        Block::current_block().run(thread, count, static_cast<unsigned>(draw()));
    }
}

void meet_block() { Block::current_block().wait(Waits::for_block); }
void meet_warp() { Block::current_block().wait(Waits::for_warp); }
void meet_lanes(unsigned mask) {
    if (mask != 1U << lane()) Block::current_block().wait(Waits::for_lanes, mask);
}
unsigned lanes_here() { return Block::current_block().lanes_here(); }
unsigned lane() { return Block::current_block().thread() % lanes; }
std::uint64_t* words_of_warp() {
    return Block::current_block().words(Block::current_block().thread() / lanes);
}
unsigned warp_lanes() {
    return Block::current_block().alive(Block::current_block().thread() / lanes);
}

}  // namespace ukemi::on_host
