/* Small jobs on MPI, as its users write them; the first word of the command line says which. A job whose ranks disagree hangs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static double some[4096], others[4096 * 16];

/* One of each kind, with arguments that ranks may give otherwise. */
static void every_collective(void) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = i + 1, places[i] = 16 * i;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  if (rank == 0)
    MPI_Bcast(some, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(some, 4, pair, 0, MPI_COMM_WORLD);
  MPI_Type_free(&pair);
  MPI_Reduce(some, others, 100, MPI_DOUBLE, MPI_MAX, size - 1, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, some, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(rank == 1 ? MPI_IN_PLACE : some, rank == 1 ? 0 : 10, MPI_DOUBLE, others, 10, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Gatherv(some, rank + 1, MPI_DOUBLE, others, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allgather(some, 3, MPI_DOUBLE, others, 3, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Allgatherv(some, rank + 1, MPI_DOUBLE, others, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Scatter(others, 5, MPI_DOUBLE, some, rank == 0 ? 5 : 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Scatterv(others, counts, places, MPI_DOUBLE, some, rank + 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Alltoall(some, 2, MPI_DOUBLE, others, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) counts[i] = 2;
  MPI_Alltoallv(some, counts, counts, MPI_DOUBLE, others, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Reduce_scatter(others, some, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(others, some, 4, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  int ones = 1, before = 0;
  MPI_Scan(&ones, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(&ones, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void every_begun(void) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int flag = 0, index, done, indices[4];
  MPI_Iallreduce(some, others, 64, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(some, 8, MPI_LONG, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(others, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, statuses);
  MPI_Iallgather(some, 2, MPI_CHAR, others, 2, MPI_CHAR, MPI_COMM_WORLD, &requests[0]);
  while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  MPI_Ireduce(some, others, 8, MPI_INT, MPI_BXOR, 0, MPI_COMM_WORLD, &requests[0]);
  requests[1] = MPI_REQUEST_NULL;
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  MPI_Ialltoall(some, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
  MPI_Waitsome(2, requests, &done, indices, statuses);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 8, others, 1, MPI_INT, (rank + size - 1) % size, 8, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* Ranks of different communicators call what they like, as often as they like. */
static void communicators(void) {
  MPI_Comm halves, copy, grid, rows, last;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 3 + rank % 2; ++i) MPI_Allreduce(MPI_IN_PLACE, some, 16 * (1 + rank % 2), MPI_DOUBLE, MPI_SUM, halves);
  int sides[2] = {size / 2, 2}, periods[2] = {0, 0}, kept[2] = {0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &grid);
  if (grid != MPI_COMM_NULL) {
    MPI_Cart_sub(grid, kept, &rows);
    MPI_Barrier(rows);
    MPI_Comm_free(&rows);
    MPI_Comm_free(&grid);
  }
  MPI_Comm_split(copy, rank == size - 1 ? 1 : MPI_UNDEFINED, 0, &last);
  if (last != MPI_COMM_NULL) {
    MPI_Barrier(last);
    MPI_Comm_free(&last);
  }
  MPI_Barrier(copy);
  MPI_Comm_free(&halves);
  MPI_Comm_free(&copy);
  for (int i = 0; i < 300; ++i) { /* more than there is room for at once, one after the other */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Bcast(some, 1, MPI_DOUBLE, 0, copy);
    MPI_Comm_free(&copy);
  }
}

/* Rank 0 hands out work and collects it; nobody else waits for anybody. */
static void workers(void) {
  if (rank == 0) {
    for (int i = 0; i < 4 * (size - 1); ++i) {
      MPI_Status status;
      int worker;
      MPI_Recv(&worker, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      MPI_Send(&i, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      int work;
      MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Recv(&work, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      usleep(1000 * (unsigned)work);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void train(int steps, int slow_rank) {
  for (int step = 0; step < steps; ++step) {
    usleep(rank == slow_rank ? 60000 : 10000);
    MPI_Allreduce(MPI_IN_PLACE, some, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void loss(void) { MPI_Allreduce(MPI_IN_PLACE, some, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void save(void) {
  FILE* file = fopen("model.bin", "w");
  for (int part = 0; part < 20; ++part) {
    fwrite(others, sizeof(double), 4096 * 16, file);
    fflush(file);
    usleep(75000); /* a slow disk */
  }
  fclose(file);
}
static void evaluate(void) { MPI_Barrier(MPI_COMM_WORLD); }

int main(int argc, char** argv) {
  const char* job = argc > 1 ? argv[1] : "every";
  const char* of_launcher = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  if (!strcmp(job, "absent") && of_launcher && !strcmp(of_launcher, "1")) {
    FILE* file = fopen("rank1", "w");
    fclose(file);
    pause();
  }
  int provided;
  if (argc > 2)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(job, "every")) {
    for (int i = 0; i < 3; ++i) every_collective(), every_begun();
    communicators();
  } else if (!strcmp(job, "workers")) {
    workers();
  } else if (!strcmp(job, "train")) {
    train(20, -1);
  } else if (!strcmp(job, "straggler")) {
    train(80, 1);
  } else if (!strcmp(job, "checkpoints")) {
    for (int epoch = 0; epoch < 3; ++epoch) {
      train(20, -1);
      if (rank == 0) save();
      evaluate();
    }
  } else if (!strcmp(job, "skipped")) { /* rank 1 leaves a barrier out */
    train(3, -1);
    if (rank != 1) evaluate();
    train(3, -1);
  } else if (!strcmp(job, "count")) { /* and hangs, or is refused */
    train(3, -1);
    MPI_Allgather(some, rank == 1 ? 1000 : 2000, MPI_DOUBLE, others, rank == 1 ? 1000 : 2000, MPI_DOUBLE, MPI_COMM_WORLD);
  } else if (!strcmp(job, "reduction")) { /* wrong numbers in silence */
    train(3, -1);
    MPI_Allreduce(MPI_IN_PLACE, some, 8, MPI_DOUBLE, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    train(3, -1);
  } else if (!strcmp(job, "other")) { /* rank 1 calls another collective */
    train(3, -1);
    if (rank == 1)
      loss();
    else
      evaluate();
    train(3, -1);
  } else if (!strcmp(job, "receive")) { /* rank 1 waits for a message that nobody sends */
    train(3, -1);
    if (rank == 1) MPI_Recv(some, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    train(3, -1);
  } else if (!strcmp(job, "asleep")) { /* rank 1 does something else */
    train(3, -1);
    if (rank == 1) pause();
    train(3, -1);
  } else if (!strcmp(job, "request")) { /* begun, and waited for, by all but one */
    MPI_Request request;
    train(3, -1);
    if (rank == 1) pause();
    MPI_Iallreduce(MPI_IN_PLACE, some, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!strcmp(job, "aborted")) {
    train(3, -1);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    train(3, -1);
  } else {
    fprintf(stderr, "no job %s\n", job);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
