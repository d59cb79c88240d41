// live_worker.cpp — a worker process and nothing else.
#include "kernels/live/crew.hpp"

int main() { return ukemi::run_worker(); }
