from paper import vary
from queues import four_flows

figure = four_flows(25, "RED", limit=25)
vary(figure, "random-starts", "equal-rtts", runs=5)
vary(figure, "no-reverse")
