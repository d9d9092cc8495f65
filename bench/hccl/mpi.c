/* A group of MPI ranks: rank 0 reads "operation bytes repeat" a line and prints the seconds of one operation, the slowest
 * rank's. `bytes` is the size of the larger buffer, as everywhere in this benchmark. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAllToAll, kEnd };

static int wait_for_command(int rank, int ranks, int command[3]) {
  if (rank == 0) {
    char name[64];
    static const char *names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall"};
    command[0] = kEnd;
    if (scanf("%63s %d %d", name, &command[1], &command[2]) == 3)
      for (int i = 0; i < kEnd; ++i)
        if (!strcmp(name, names[i])) command[0] = i;
    for (int r = 1; r < ranks; ++r) MPI_Send(command, 3, MPI_INT, r, 7, MPI_COMM_WORLD);
  } else {
    /* MPI's own waits spin: they would take the cores from the peer that is measured meanwhile. */
    for (int there = 0; !there; usleep(500)) MPI_Iprobe(0, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Recv(command, 3, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return command[0] != kEnd;
}

int main(int argc, char **argv) {
  int rank, ranks, command[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (wait_for_command(rank, ranks, command)) {
    const int n = command[1] < 4 ? 1 : command[1] / 4, part = n / ranks ? n / ranks : 1;
    float *a = calloc((size_t)part * ranks + n, 4), *b = calloc((size_t)part * ranks + n, 4);
    memset(a, 0, 4 * (size_t)n);
    memset(b, 0, 4 * (size_t)n);
    for (int timed = 0; timed < 2; ++timed) { /* first to warm up */
      const int repeat = timed ? command[2] : 1;
      MPI_Barrier(MPI_COMM_WORLD);
      double seconds = MPI_Wtime(), slowest;
      for (int i = 0; i < repeat; ++i) switch (command[0]) {
          case kAllReduce: MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
          case kAllGather: MPI_Allgather(a, part, MPI_FLOAT, b, part, MPI_FLOAT, MPI_COMM_WORLD); break;
          case kReduceScatter: MPI_Reduce_scatter_block(a, b, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
          case kBroadcast: MPI_Bcast(a, n, MPI_FLOAT, 0, MPI_COMM_WORLD); break;
          default: MPI_Alltoall(a, part, MPI_FLOAT, b, part, MPI_FLOAT, MPI_COMM_WORLD);
        }
      seconds = (MPI_Wtime() - seconds) / repeat;
      MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (timed && rank == 0) {
        printf("%.9f\n", slowest);
        fflush(stdout);
      }
    }
    free(a);
    free(b);
  }
  MPI_Finalize();
  return 0;
}
